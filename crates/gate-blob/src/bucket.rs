//! An S3 bucket, or what speaks like one: how it is opened, and where an upload goes.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use gate_core::Sha256Digest;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{ObjectStore, RetryConfig};
use url::Url;
use uuid::Uuid;

use crate::BlobError;
use crate::key::Namespace;
use crate::upload::{ObjectUpload, Target, exists};

const RETRIES_MAX: usize = 4;
/// Retries of one request end here: somebody waits for the answer.
const RETRY_LIMIT: Duration = Duration::from_secs(60);

/// For bytes whose digest is not known yet. No namespace begins with a dot.
const INCOMING: &str = ".incoming";

/// A prefix within a bucket.
#[derive(Debug, Clone)]
pub(crate) struct Bucket {
    prefix: String,
}

type Opened = (Bucket, Arc<dyn ObjectStore>);

impl Bucket {
    pub(crate) fn from_environment(url: &Url) -> Result<Opened, BlobError> {
        Self::open(url, AmazonS3Builder::from_env())
    }

    pub(crate) fn with_settings(url: &Url, settings: &[(&str, &str)]) -> Result<Opened, BlobError> {
        let mut builder = AmazonS3Builder::new();
        for (name, value) in settings {
            let key: AmazonS3ConfigKey = name
                .to_ascii_lowercase()
                .parse()
                .or(Err(BlobError::BadUrl { reason: format!("S3 has no setting `{name}`") }))?;
            builder = builder.with_config(key, *value);
        }
        Self::open(url, builder)
    }

    fn open(url: &Url, builder: AmazonS3Builder) -> Result<Opened, BlobError> {
        let bad = |reason: &str| BlobError::BadUrl { reason: reason.to_owned() };
        let name = url.host_str().filter(|it| !it.is_empty());
        let name = name.ok_or_else(|| bad("an S3 URL names its bucket: s3://bucket/prefix"))?;
        let has_login = !url.username().is_empty() || url.password().is_some();
        if has_login || url.port().is_some() || url.query().is_some() {
            return Err(bad("an S3 URL has a bucket and a prefix only; credentials are in AWS_…"));
        }
        // The client would refuse to be built without one; it does no harm when there is one.
        if rustls::crypto::ring::default_provider().install_default().is_err() {
            tracing::debug!("another provider of cryptography is in place");
        }
        let plain = [AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::S3Endpoint]
            .iter()
            .filter_map(|it| builder.get_config_value(it))
            .any(|it| it.starts_with("http://"));
        let builder = if plain { builder.with_allow_http(true) } else { builder };
        let retry = RetryConfig {
            max_retries: RETRIES_MAX,
            retry_timeout: RETRY_LIMIT,
            ..Default::default()
        };
        let objects = builder
            .with_bucket_name(name)
            .with_retry(retry)
            .build()
            .map_err(BlobError::from_store)?;
        let prefix = url.path().trim_matches('/').to_owned();
        Ok((Self { prefix }, Arc::new(objects)))
    }

    pub(crate) fn path(&self, key: &str) -> Path {
        Path::from(format!("{}/{key}", self.prefix))
    }

    pub(crate) async fn begin(
        &self,
        objects: &Arc<dyn ObjectStore>,
        namespace: Namespace,
        expected: Option<Sha256Digest>,
    ) -> Result<ObjectUpload, BlobError> {
        let target = match expected.map(|it| self.path(&namespace.key(it))) {
            Some(key) if exists(objects.as_ref(), &key).await? => Target::Taken,
            Some(key) => Target::Key(key),
            None => Target::Incoming(self.path(&format!("{INCOMING}/{}", Uuid::now_v7()))),
        };
        Ok(ObjectUpload {
            objects: Arc::clone(objects),
            bucket: self.clone(),
            namespace,
            target,
            buffer: BytesMut::new(),
            parts: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(url: &str, settings: &[(&str, &str)]) -> Result<Opened, BlobError> {
        Bucket::with_settings(&Url::parse(url).unwrap(), settings)
    }

    #[test]
    fn keys_stand_below_the_prefix() {
        let (bucket, _) = open("s3://gate/donegate/bytes/", &[]).unwrap();
        assert_eq!(bucket.path("a/b").as_ref(), "donegate/bytes/a/b");
        let (bucket, _) = open("s3://gate", &[]).unwrap();
        assert_eq!(bucket.path("a/b").as_ref(), "a/b");
    }

    #[test]
    fn a_url_with_more_than_bucket_and_prefix_is_refused_without_repeating_it() {
        for url in
            ["s3:///prefix", "s3://key:secret@gate/", "s3://gate:9000/", "s3://gate/?x=secret"]
        {
            let error = open(url, &[]).unwrap_err().to_string();
            assert!(error.contains("s3://bucket/prefix") && !error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn an_unknown_setting_is_named() {
        let error = open("s3://gate", &[("AWS_REGOIN", "x")]).unwrap_err().to_string();
        assert!(error.contains("AWS_REGOIN"), "{error}");
    }
}
