//! One connection of a sandbox: requests that are forwarded, or one that becomes a tunnel.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use http_body_util::{Either, Empty, Full};
use hyper::body::{Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::copy_bidirectional;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tracing::debug;

use super::Shared;
use super::idle::IdleStream;
use super::target::{Refused, Target};

/// Headers that belong to one connection, and are not passed on.
const OF_ONE_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

type Body = Either<Either<Full<Bytes>, Empty<Bytes>>, Incoming>;
type Upstream = IdleStream<TcpStream>;

/// What one connection holds beside itself; all of it ends with it.
#[derive(Debug, Default)]
struct Held {
    /// What the connection becomes when its answer is sent.
    tunnel: Mutex<Option<(OnUpgrade, Upstream)>>,
    /// The other ends of requests that are forwarded.
    upstreams: Mutex<JoinSet<()>>,
}

/// Serves the connection to its end.
pub(super) async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let limits = shared.limits;
    let held = Arc::new(Held::default());
    let service = {
        let held = Arc::clone(&held);
        service_fn(move |request| answer(request, Arc::clone(&shared), Arc::clone(&held)))
    };
    let ended = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header)
        .max_buf_size(limits.header_bytes_max)
        .serve_connection(TokioIo::new(IdleStream::new(stream, limits.idle)), service)
        .with_upgrades()
        .await;
    if let Err(error) = ended {
        debug!(%error, "a connection from a sandbox ended early");
        return;
    }
    let tunnel = held.tunnel.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some((client, mut upstream)) = tunnel {
        let carried = async {
            let mut client = TokioIo::new(client.await?);
            copy_bidirectional(&mut client, &mut upstream).await?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
        };
        if let Err(error) = carried.await {
            debug!(error, "a tunnel from a sandbox ended early");
        }
    }
}

/// What a tunnel to the public may lead to: a proxy cannot see what is spoken in it.
const TUNNEL_PORTS: [u16; 2] = [80, 443];

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Shared>,
    held: Arc<Held>,
) -> Result<Response<Body>, Infallible> {
    let answered = if request.method() == Method::CONNECT {
        open_tunnel(request, &shared, &held).await
    } else {
        forward(request, &shared, &held).await
    };
    Ok(answered.unwrap_or_else(refuse))
}

async fn open_tunnel(
    request: Request<Incoming>,
    shared: &Shared,
    held: &Held,
) -> Result<Response<Body>, Refused> {
    let authority = request.uri().authority().ok_or_else(not_for_a_proxy)?;
    let target = Target::parse(authority, None)?;
    let upstream = target.connect(shared, Some(&TUNNEL_PORTS)).await?;
    let upstream = IdleStream::new(upstream, shared.limits.idle);
    let tunnel = (hyper::upgrade::on(request), upstream);
    *held.tunnel.lock().unwrap_or_else(PoisonError::into_inner) = Some(tunnel);
    Ok(Response::new(Either::Left(Either::Right(Empty::new()))))
}

async fn forward(
    request: Request<Incoming>,
    shared: &Shared,
    held: &Held,
) -> Result<Response<Body>, Refused> {
    let (mut parts, body) = request.into_parts();
    let authority = parts.uri.authority().cloned().ok_or_else(not_for_a_proxy)?;
    if parts.uri.scheme() != Some(&Scheme::HTTP) {
        let text = "only http:// URLs are forwarded; for others, open a tunnel with CONNECT";
        return Err(Refused::new(StatusCode::BAD_REQUEST, text));
    }
    let upstream = Target::parse(&authority, Some(80))?.connect(shared, None).await?;
    let failed = |error: hyper::Error| {
        Refused::new(
            StatusCode::BAD_GATEWAY,
            format!("{authority} did not answer as HTTP: {error}"),
        )
    };
    let stream = TokioIo::new(IdleStream::new(upstream, shared.limits.idle));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(stream).await.map_err(failed)?;
    drive(held, connection);
    // Who is asked is who was checked, whatever the sandbox's own header says.
    let host = HeaderValue::from_str(authority.as_str());
    drop_own_headers(&mut parts.headers);
    parts.headers.insert(HOST, host.or(Err(not_for_a_proxy()))?);
    let path = parts.uri.path_and_query().cloned();
    parts.uri = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    parts.version = Version::HTTP_11;
    let sent = sender.send_request(Request::from_parts(parts, body));
    let Ok(answered) = timeout(shared.limits.idle, sent).await else {
        let text = format!("{authority} did not answer in time");
        return Err(Refused::new(StatusCode::GATEWAY_TIMEOUT, text));
    };
    let (mut parts, body) = answered.map_err(failed)?.into_parts();
    drop_own_headers(&mut parts.headers);
    parts.version = Version::HTTP_11;
    Ok(Response::from_parts(parts, Either::Right(body)))
}

/// The connection to the other end moves as long as the one from the sandbox is open.
fn drive<F>(held: &Held, connection: F)
where
    F: Future<Output = Result<(), hyper::Error>> + Send + 'static,
{
    let mut upstreams = held.upstreams.lock().unwrap_or_else(PoisonError::into_inner);
    while upstreams.try_join_next().is_some() {}
    upstreams.spawn(async move {
        if let Err(error) = connection.await {
            debug!(%error, "a connection for a sandbox ended early");
        }
    });
}

fn drop_own_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','))
        .filter_map(|it| it.trim().parse().ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in OF_ONE_CONNECTION {
        headers.remove(name);
    }
}

fn not_for_a_proxy() -> Refused {
    let text = "this is the proxy of a sandbox: ask with CONNECT host:port, or with a whole URL";
    Refused::new(StatusCode::BAD_REQUEST, text)
}

/// The reason also stands in the status line, which is all that many clients show of a refused tunnel.
fn refuse(Refused { status, text }: Refused) -> Response<Body> {
    debug!(status = status.as_u16(), reason = text, "a request of a sandbox was refused");
    let body = Full::new(Bytes::from(format!("donegate: {text}\n")));
    let mut response = Response::new(Either::Left(Either::Left(body)));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    // A client that was refused a tunnel has nothing more to say on this connection.
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    if let Ok(reason) = ReasonPhrase::try_from(text) {
        response.extensions_mut().insert(reason);
    }
    response
}
