//! The judged tree: the report's, compared with the baseline, with the baseline's protected files laid over it.

use std::sync::Arc;

use gate_core::{PathPattern, ProtectedChange, Sha256Digest};
use tokio_util::sync::CancellationToken;

use super::cache::{Lease, Site, Stored, TreeCache};
use super::changes::{Changes, compare};
use super::copy::link_tree;
use super::error::SourceError;
use super::ground::Ground;
use super::in_background;
use super::key::Key;
use super::prepared::{self, Prepared};
use super::protect::{self, Globs, Plan};
use super::writer::TreeWriter;

/// What an overlay came to.
#[derive(Debug, Clone)]
pub(super) struct Overlay {
    /// Of the judged tree.
    pub(super) tree: Sha256Digest,
    /// What the reporter had done to protected files.
    pub(super) protected_changes: Arc<[ProtectedChange]>,
    /// What each command finds at protected paths.
    pub(super) protected: Arc<[Prepared]>,
    /// How the report's tree differs from the baseline.
    pub(super) changes: Changes,
}

/// Where trees are made and kept.
#[derive(Debug, Clone)]
pub(super) struct Trees {
    pub(super) ground: Arc<Ground>,
    pub(super) cache: Arc<TreeCache>,
}

/// What the contract protects, as text and ready to match.
#[derive(Debug, Clone, Copy)]
pub(super) struct Protected<'a> {
    pub(super) patterns: &'a [PathPattern],
    pub(super) globs: &'a Globs,
}

impl Overlay {
    /// Without a baseline there is nothing to lay over, and nothing to compare with.
    pub(super) fn none(report: &Lease) -> Self {
        let (protected_changes, changes) = (Arc::default(), Changes::default());
        Self { tree: report.digest(), protected_changes, protected: Arc::default(), changes }
    }
}

/// Lays the baseline's protected files over the report's tree, or finds that it was done before.
pub(super) async fn lay_over(
    trees: &Trees,
    report: &Lease,
    baseline: &Lease,
    protected: Protected<'_>,
    cancel: &CancellationToken,
) -> Result<(Overlay, Lease), SourceError> {
    let key = Key::of_overlay(report.digest(), baseline.digest(), protected.patterns);
    if let Some(known) = trees.cache.overlay(key) {
        return Ok(known);
    }
    let _turn = trees.cache.turn(key, cancel).await?;
    if let Some(known) = trees.cache.overlay(key) {
        return Ok(known);
    }
    let (trees, report, baseline) = (trees.clone(), report.clone(), baseline.clone());
    let (globs, cancel) = (protected.globs.clone(), cancel.clone());
    in_background(move || {
        let changes = compare(baseline.tree(), report.tree())?;
        let plan = protect::plan(report.tree(), baseline.tree(), &globs)?;
        let judged = if plan.is_empty() {
            report.clone()
        } else {
            trees.cache.store(make(&trees.ground, (&report, &baseline), &plan, &cancel)?)
        };
        let protected_changes = plan.changes.into_iter().collect();
        let protected = prepared::protected(judged.tree(), |it| globs.matches(it));
        let overlay = Overlay { tree: judged.digest(), protected_changes, protected, changes };
        trees.cache.remember_overlay(key, overlay.clone());
        Ok((overlay, judged))
    })
    .await
}

/// Lays every file of the acceptance tree over a tree that is judged; that they are missing there is nobody's doing.
pub(super) async fn lay_over_all(
    trees: &Trees,
    (judged, tree): (Overlay, Lease),
    acceptance: &Lease,
    protected: &Globs,
    cancel: &CancellationToken,
) -> Result<(Overlay, Lease), SourceError> {
    let patterns = protect::patterns_of(acceptance.tree())?;
    let globs = Globs::of_paths(&patterns)?;
    let laid = Protected { patterns: &patterns, globs: &globs };
    let (laid, tree) = lay_over(trees, &tree, acceptance, laid, cancel).await?;
    let mut changes = judged.protected_changes.to_vec();
    let is_change = |it: &&ProtectedChange| !matches!(it, ProtectedChange::Deleted(_));
    changes.extend(laid.protected_changes.iter().filter(is_change).cloned());
    changes.dedup();
    let protected =
        prepared::protected(tree.tree(), |it| protected.matches(it) || globs.matches(it));
    let protected_changes = changes.into();
    Ok((Overlay { tree: tree.digest(), protected_changes, protected, ..judged }, tree))
}

/// A second tree that shares the files that stay.
fn make(
    ground: &Arc<Ground>,
    (report, baseline): (&Stored, &Stored),
    plan: &Plan,
    cancel: &CancellationToken,
) -> Result<Stored, SourceError> {
    let site = Site::new(ground).map_err(SourceError::system("making the workspace"))?;
    let root = site.workspace();
    link_tree(&report.site().workspace(), &root, cancel)?;
    let writer = TreeWriter::resume(&root, report.tree().clone(), cancel)?;
    let from = (baseline.site().workspace(), baseline.tree());
    let tree = protect::lay_over(writer, plan, (&from.0, from.1))?;
    Ok(Stored::new(site, tree))
}
