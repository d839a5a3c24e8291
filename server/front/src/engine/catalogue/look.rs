//! Examines an index for an operator who wants to serve it, and describes the product, the map that fits the index, and
//! the searches that would be answered.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::dialect::Dialect;
use super::error::CatalogueError;
use super::map::{CatalogueEngine, CatalogueMap, Role};
use super::offer::{FieldsError, MissingField, Offer};
use super::plan::{Clause, Plan};
use crate::engine::link::address::{ClusterAccess, ClusterAddress};
use crate::engine::link::reading::{ReadLink, Reading};
use crate::engine::link::{Failure, shortened};

/// The maximum number of octets in a server's description of itself.
const MOST_ABOUT: usize = 1 << 20;

/// The result of examining an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Look {
    /// The product and version reported by the server, if it reports them.
    pub product: Option<String>,
    /// The name of the index.
    pub index: String,
    /// Whether `z3950d` itself created the index, for its own records.
    pub is_own: bool,
    /// The map that fits best; `None` if none fits.
    pub fitting: Option<FittingMap>,
    /// The names of the maps that do not fit, each with a description of what the index lacks.
    pub others: Vec<(String, String)>,
}

/// A map that fits an index.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FittingMap {
    /// The name of the map.
    pub name: String,
    /// The number of records that can be found.
    pub records: Option<usize>,
    /// The indexes that are offered: their names, with the uses of their fields.
    pub offered: Vec<(String, Vec<&'static str>)>,
    /// The number of indexes in the map that have fields.
    pub indexes: usize,
    /// The fields that the index does not have.
    pub missing: Vec<MissingField>,
}

/// Examines an index, and compares it with each built-in map. Nothing is changed.
///
/// # Errors
/// Fails if no server answers, or there is no such index.
pub async fn look(
    addresses: &[ClusterAddress],
    access: &ClusterAccess,
    time: Duration,
) -> Result<Look, CatalogueError> {
    let link = || {
        let link = ReadLink::new(addresses, access, 1, time);
        link.map_err(|error| CatalogueError::Certificates(error.to_string()))
    };
    let index = link()?.index().to_owned();
    let mut looked = Look {
        product: product(&link()?)
            .await
            .map_err(|failure| CatalogueError::of(&failure, &index))?,
        index: index.clone(),
        is_own: is_own(&link()?).await,
        fitting: None,
        others: Vec::new(),
    };
    let (mut failure, mut is_known) = (None, false);
    for name in CatalogueMap::names() {
        let map = CatalogueMap::shipped(name).and_then(|text| CatalogueMap::parse(text).ok());
        let Some(map) = map else { continue };
        let dialect = Dialect::new(map.engine(), link()?, false);
        let fitted = fitted(name, &map, &dialect, time).await;
        if fitted.is_ok() && map.engine() == CatalogueEngine::Solr {
            looked.product.get_or_insert_with(|| "Solr".to_owned());
        }
        is_known |= fitted.is_ok();
        match fitted {
            Ok(Ok(fitting)) => {
                let best = looked.fitting.as_ref().map_or(0, |best| best.offered.len());
                if fitting.offered.len() > best {
                    looked.fitting = Some(fitting);
                }
            }
            Ok(Err(what)) => looked.others.push((name.to_owned(), what)),
            Err(failed) => {
                let error = CatalogueError::of_fields(&failed, &index);
                looked.others.push((name.to_owned(), error.to_string()));
                failure.get_or_insert(error);
            }
        }
    }
    match failure {
        Some(error) if !is_known => Err(error),
        _ => Ok(looked),
    }
}

/// Returns the product and version reported by a server, if it is a product that reports them.
///
/// # Errors
/// Fails if the server does not answer.
async fn product(link: &ReadLink) -> Result<Option<String>, Failure> {
    let about = link.ask(Reading::About, "", &Value::Null, MOST_ABOUT).await;
    match about {
        Ok(about) => Ok(product_of(&about)),
        Err(failure @ (Failure::Unreachable { .. } | Failure::Late { .. })) => Err(failure),
        Err(_) => Ok(None),
    }
}

fn product_of(about: &Value) -> Option<String> {
    let version = about.get("version")?;
    let text = |name: &str| version.get(name).and_then(Value::as_str);
    let product = match text("distribution") {
        Some("opensearch") => "OpenSearch",
        Some(other) => other,
        None => "Elasticsearch",
    };
    Some(shortened(&format!("{product} {}", text("number")?)))
}

/// Returns whether an index has the mark of the indexes that `z3950d` creates.
async fn is_own(link: &ReadLink) -> bool {
    let mapping = link
        .ask(Reading::Mapping, "", &Value::Null, MOST_ABOUT)
        .await;
    let mapping = mapping.unwrap_or_default();
    let mut indexes = mapping.as_object().into_iter().flat_map(Map::values);
    indexes.any(|index| index.pointer("/mappings/_meta/z3950d").is_some())
}

/// Compares an index with a map; if the map does not fit, the error lists what is missing.
async fn fitted(
    name: &str,
    map: &CatalogueMap,
    dialect: &Dialect,
    time: Duration,
) -> Result<Result<FittingMap, String>, FieldsError> {
    let found = dialect.fields(map).await?;
    let (offer, missing) = Offer::new(map, Some(&found));
    if let Err(what) = offer.usable() {
        return Ok(Err(what));
    }
    let plan = Plan::count(&Clause::Everything, time);
    let records = dialect.search(&offer, &plan).await;
    let offered = offer.points().map(|point| {
        let roles = Role::ALL.into_iter().filter(|role| point.has(*role));
        (point.name.clone(), roles.map(Role::key).collect::<Vec<_>>())
    });
    let offered = offered.filter(|(_, roles)| !roles.is_empty());
    Ok(Ok(FittingMap {
        name: name.to_owned(),
        records: records.ok().map(|answer| answer.total),
        offered: offered.collect(),
        indexes: { map.indexes.iter() }
            .filter(|index| !index.fields.is_empty())
            .count(),
        missing,
    }))
}

impl fmt::Display for Look {
    /// Formats the result as human-readable lines of text.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let product = self
            .product
            .as_deref()
            .unwrap_or("a server of no known product");
        writeln!(f, "{product}, index {}", self.index)?;
        if self.is_own {
            return writeln!(
                f,
                "This is an index of z3950d's own: it is served without catalogue"
            );
        }
        let Some(fitting) = &self.fitting else {
            writeln!(f, "No map fits:")?;
            for (name, what) in &self.others {
                writeln!(f, "  {name}: {what}")?;
            }
            return Ok(());
        };
        let FittingMap {
            name,
            records,
            offered,
            indexes,
            missing,
        } = fitting;
        write!(
            f,
            "catalogue = \"{name}\" fits: {} of {indexes} indexes",
            offered.len()
        )?;
        match records {
            Some(1) => writeln!(f, ", 1 record can be found")?,
            Some(records) => writeln!(f, ", {records} records can be found")?,
            None => writeln!(f, ", but the records cannot be counted")?,
        }
        writeln!(f, "Answered:")?;
        for (index, roles) in offered {
            writeln!(f, "  {index}: {}", roles.join(", "))?;
        }
        if !missing.is_empty() {
            writeln!(
                f,
                "Not in this index (lines of the map, z3950d --print-map {name}):"
            )?;
            for field in missing {
                writeln!(f, "  {field}")?;
            }
        }
        Ok(())
    }
}
