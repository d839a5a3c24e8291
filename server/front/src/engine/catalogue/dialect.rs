//! The languages of catalogue engines. A dialect converts plans to read-only requests, and responses to answers.

use std::time::Duration;

use z3950_server::Diagnostic;

use super::koha::{self, KohaDialect};
use super::map::{CatalogueEngine, CatalogueMap};
use super::offer::{FieldsError, FieldsFound, Offer};
use super::plan::{Answer, AskError, Plan, TermsAnswer, TermsPlan};
use super::solr::{self, SolrDialect};
use super::term::Skills;
use crate::engine::link::ServerCounts;
use crate::engine::link::reading::ReadLink;

/// The language of an engine, with the link to its servers.
#[derive(Debug)]
pub(super) enum Dialect {
    Koha(KohaDialect),
    Solr(SolrDialect),
}

impl CatalogueEngine {
    /// Returns the conditions on word positions that the engine can express.
    pub(super) fn skills(self) -> Skills {
        match self {
            Self::Koha => KohaDialect::SKILLS,
            Self::Solr => SolrDialect::SKILLS,
        }
    }
}

impl Dialect {
    /// Creates the dialect of an engine. If `strict` is true, an answer that lacks a part of the index is a failure.
    pub(super) fn new(engine: CatalogueEngine, link: ReadLink, strict: bool) -> Self {
        match engine {
            CatalogueEngine::Koha => Self::Koha(KohaDialect::new(link, strict)),
            CatalogueEngine::Solr => Self::Solr(SolrDialect::new(link, strict)),
        }
    }

    /// Returns the fields that exist in the index, with their possible uses. Fields that do not occur in the map may be left
    /// out.
    ///
    /// # Errors
    /// Fails if the engine does not answer, if the answer is not from such an engine, or if the name of the index is an alias
    /// of several indexes.
    pub(super) async fn fields(&self, map: &CatalogueMap) -> Result<FieldsFound, FieldsError> {
        match self {
            Self::Koha(koha) => koha.fields().await,
            Self::Solr(solr) => Ok(solr.fields(map).await?),
        }
    }

    /// Carries out a plan: requests the records on a page, the total number of records, facets and separate counts. Hidden
    /// records are left out of all of these.
    ///
    /// # Errors
    /// See [`AskError`].
    pub(super) async fn search(&self, offer: &Offer, plan: &Plan<'_>) -> Result<Answer, AskError> {
        match self {
            Self::Koha(koha) => koha.search(offer, plan).await,
            Self::Solr(solr) => solr.search(offer, plan).await,
        }
    }

    /// Returns whether an answer may come from a different index than the one whose fields are known. `index` is the index of
    /// the answer's records, if there are any.
    pub(super) fn is_in_doubt(&self, index: Option<&str>) -> bool {
        match self {
            Self::Koha(koha) => koha.is_in_doubt(index),
            // Listing Solr's fields takes many requests, so Solr is not asked again for each answer.
            Self::Solr(_) => false,
        }
    }

    /// Lists values in a field around a start, each with its number of records that are not hidden.
    ///
    /// # Errors
    /// See [`AskError`].
    pub(super) async fn terms(
        &self,
        offer: &Offer,
        plan: &TermsPlan<'_>,
        deadline: Duration,
    ) -> Result<TermsAnswer, AskError> {
        match self {
            Self::Koha(koha) => koha.terms(offer, plan, deadline).await,
            Self::Solr(solr) => solr.terms(offer, plan, deadline).await,
        }
    }

    /// Returns the request for a plan, as it would be sent to the engine. The engine is not asked how it folds words.
    ///
    /// # Errors
    /// Fails if the engine cannot carry out the plan.
    pub(super) fn statement(&self, offer: &Offer, plan: &Plan<'_>) -> Result<String, Diagnostic> {
        match self {
            Self::Koha(koha) => koha.statement(offer, plan),
            Self::Solr(solr) => solr.statement(offer, plan),
        }
    }

    /// Returns the maximum position of a record that a page can contain.
    pub(super) fn window(&self) -> usize {
        match self {
            Self::Koha(_) => koha::WINDOW,
            Self::Solr(_) => solr::WINDOW,
        }
    }

    /// Returns the number of failed requests for each server.
    pub(super) fn servers(&self) -> Vec<ServerCounts> {
        match self {
            Self::Koha(koha) => koha.link.counts(),
            Self::Solr(solr) => solr.link.counts(),
        }
    }
}
