//! Who makes a request, and what that key may do. Nothing of another project is ever confirmed: it is "not found".

use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use gate_api::{ProblemKind, Role};
use gate_core::Sha256Digest;
use gate_store::{Origin, Principal, Project};
use sha2::{Digest, Sha256};

use super::App;
use super::context::RequestContext;
use super::problem::Problem;
use crate::api_key::ApiKeySecret;

/// A request with a live key.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) principal: Principal,
    roles: Vec<Role>,
    context: RequestContext,
}

/// What a key is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Permission {
    Read,
    Plan,
    Report,
    Cancel,
    ManageCallbacks,
    ManageKeys,
    ManageGate,
}

/// The name of a project, as it stands in a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slug(String);

/// The text is no project's name.
#[derive(Debug, thiserror::Error)]
#[error("a project's slug has lower-case letters, digits, and `-`, 63 at most")]
pub(crate) struct SlugError;

impl FromStr for Slug {
    type Err = SlugError;

    fn from_str(text: &str) -> Result<Self, SlugError> {
        let plain = |it: u8| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-';
        let fits =
            (1..=63).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('-');
        if fits { Ok(Self(text.to_owned())) } else { Err(SlugError) }
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Slug {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let context = RequestContext::of(parts);
        let header = parts.headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        let refuse = |detail: &str| Problem::new(ProblemKind::Unauthenticated, detail);
        let Some(header) = header else {
            return Err(refuse("send `Authorization: Bearer dg_…`"));
        };
        let secret = match header.split_once(' ') {
            Some((scheme, secret)) if scheme.eq_ignore_ascii_case("bearer") => secret.trim(),
            Some(_) | None => {
                return Err(refuse("the scheme is Bearer: `Authorization: Bearer dg_…`"));
            }
        };
        // A typo is told from its checksum, without a query.
        let secret: ApiKeySecret =
            secret.parse().or(Err(refuse("this is not an API key of Donegate; is it whole?")))?;
        let sha256 = Sha256Digest::from_bytes(Sha256::digest(secret.expose()).into());
        let Some(principal) = app.store.principal(sha256).await? else {
            return Err(refuse("this API key is unknown, revoked, or expired"));
        };
        let roles = principal.roles.iter().filter_map(|it| Role::from_word(it)).collect();
        Ok(Self { principal, roles, context })
    }
}

impl Caller {
    /// Goes on only when one of the key's roles allows this.
    pub(crate) fn require(&self, permission: Permission) -> Result<(), Problem> {
        if self.roles.iter().any(|it| allows(*it, permission)) {
            let bound_to_one_project = self.principal.project.is_some();
            if permission == Permission::ManageGate && bound_to_one_project {
                return Err(self.refuse("an admin key of the whole gate"));
            }
            return Ok(());
        }
        let able: Vec<&str> =
            Role::ALL.into_iter().filter(|it| allows(*it, permission)).map(Role::as_str).collect();
        Err(self.refuse(&format!("a key with one of the roles {}", able.join(", "))))
    }

    fn refuse(&self, needed: &str) -> Problem {
        let roles: Vec<&str> = self.roles.iter().map(|it| it.as_str()).collect();
        let name = &self.principal.name;
        let detail = format!("this needs {needed}; the key `{name}` has {}", roles.join(", "));
        Problem::new(ProblemKind::Forbidden, detail)
    }

    /// The only project that this key may see; none for an admin key of the whole gate.
    pub(crate) fn within(&self) -> Option<i64> {
        self.principal.project.as_ref().map(|it| it.id)
    }

    /// The project of this name, if the key may see it.
    pub(crate) async fn project(&self, app: &App, slug: &Slug) -> Result<Project, Problem> {
        if self.principal.project.as_ref().is_some_and(|it| it.slug != slug.as_str()) {
            return Err(Problem::not_found("project"));
        }
        Ok(app.store.project_by_slug(slug.as_str()).await?)
    }

    /// Who caused a change, for its event.
    pub(crate) fn origin(&self) -> Origin {
        Origin {
            actor: self.principal.name.clone(),
            request_id: Some(self.context.request_id.clone()),
            traceparent: Some(self.context.traceparent.clone()),
        }
    }
}

/// The table of roles.
const fn allows(role: Role, permission: Permission) -> bool {
    match (role, permission) {
        (Role::Admin, _)
        | (_, Permission::Read)
        | (Role::Planner | Role::Orchestrator, Permission::Plan | Permission::Cancel)
        | (Role::Reporter | Role::Orchestrator, Permission::Report)
        | (Role::Orchestrator, Permission::ManageCallbacks) => true,
        (
            Role::Planner | Role::Reporter | Role::Reviewer | Role::Orchestrator,
            Permission::Plan
            | Permission::Report
            | Permission::Cancel
            | Permission::ManageCallbacks
            | Permission::ManageKeys
            | Permission::ManageGate,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reporter_never_touches_contracts() {
        assert!(allows(Role::Reporter, Permission::Report));
        assert!(!allows(Role::Reporter, Permission::Plan));
        assert!(!allows(Role::Reporter, Permission::Cancel));
    }

    #[test]
    fn only_an_admin_manages_keys() {
        for role in Role::ALL {
            assert_eq!(allows(role, Permission::ManageKeys), role == Role::Admin);
        }
    }

    #[test]
    fn a_slug_with_odd_characters_is_refused() {
        for text in ["", "-a", "A", "a b", "a\0", "a/b", &"a".repeat(64)] {
            assert!(text.parse::<Slug>().is_err(), "{text:?}");
        }
        assert!("shop-2".parse::<Slug>().is_ok());
    }
}
