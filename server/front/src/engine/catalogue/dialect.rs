//! The languages of the engines of catalogues. A dialect turns plans into requests that only read, and answers into what plans ask for.

use std::time::Duration;

use z3950_server::Diagnostic;

use super::koha::{self, KohaDialect};
use super::map::{CatalogueEngine, CatalogueMap};
use super::offer::{FieldsError, FieldsFound, Offer};
use super::plan::{Answer, AskError, Plan, TermsAnswer, TermsPlan};
use super::solr::{self, SolrDialect};
use super::term::Skills;
use crate::engine::health::ServerCounts;
use crate::engine::link::reading::ReadLink;

/// The language of an engine, with the link to its servers.
#[derive(Debug)]
pub(super) enum Dialect {
    Koha(KohaDialect),
    Solr(SolrDialect),
}

impl CatalogueEngine {
    /// Returns what the engine can say of words in places.
    pub(super) fn skills(self) -> Skills {
        match self {
            Self::Koha => KohaDialect::SKILLS,
            Self::Solr => SolrDialect::SKILLS,
        }
    }
}

impl Dialect {
    /// Creates the dialect of an engine. `strict` means that an answer without all parts of the index is none.
    pub(super) fn new(engine: CatalogueEngine, link: ReadLink, strict: bool) -> Self {
        match engine {
            CatalogueEngine::Koha => Self::Koha(KohaDialect::new(link, strict)),
            CatalogueEngine::Solr => Self::Solr(SolrDialect::new(link, strict)),
        }
    }

    /// Returns the fields of a map that the index has, with what they can be used for.
    ///
    /// # Errors
    /// The engine does not answer, or the answer is not that of such an engine; or several indexes have the name.
    pub(super) async fn fields(&self, map: &CatalogueMap) -> Result<FieldsFound, FieldsError> {
        match self {
            Self::Koha(koha) => koha.fields().await,
            Self::Solr(solr) => Ok(solr.fields(map).await?),
        }
    }

    /// Carries out a plan: the records of a page, their total, facets and separate counts. Hidden records are left out of all of them.
    ///
    /// # Errors
    /// See [`AskError`].
    pub(super) async fn search(&self, offer: &Offer, plan: &Plan<'_>) -> Result<Answer, AskError> {
        match self {
            Self::Koha(koha) => koha.search(offer, plan).await,
            Self::Solr(solr) => solr.search(offer, plan).await,
        }
    }

    /// Returns whether an answer may be of another index than the one whose fields are known. `index` is the index of its records, if there
    /// are any.
    pub(super) fn is_in_doubt(&self, index: Option<&str>) -> bool {
        match self {
            Self::Koha(koha) => koha.is_in_doubt(index),
            // Solr needs many requests to list its fields.
            Self::Solr(_) => false,
        }
    }

    /// Lists values of a field around a start, each with its number of records that are not hidden.
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

    /// Returns the search of a plan as the engine gets it, without asking the engine how it folds words.
    ///
    /// # Errors
    /// A plan that the engine cannot be asked for.
    pub(super) fn statement(&self, offer: &Offer, plan: &Plan<'_>) -> Result<String, Diagnostic> {
        match self {
            Self::Koha(koha) => koha.statement(offer, plan),
            Self::Solr(solr) => solr.statement(offer, plan),
        }
    }

    /// Returns the most records from the first to the last one of a page.
    pub(super) fn window(&self) -> usize {
        match self {
            Self::Koha(_) => koha::WINDOW,
            Self::Solr(_) => solr::WINDOW,
        }
    }

    /// Returns how often each server did not answer.
    pub(super) fn servers(&self) -> Vec<ServerCounts> {
        match self {
            Self::Koha(koha) => koha.link.counts(),
            Self::Solr(solr) => solr.link.counts(),
        }
    }
}
