//! In which syntax and with which elements records are wanted (Z39.50-2003 §3.2.3.1.5, §3.6): element set names, also
//! for single databases, and the part of a CompSpec that says no more than these.

use z3950_asn1::apdu::{
    CompSpec, DatabaseName, ElementSetNames, ElementSpec, RecordComposition, Specification,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use crate::backend::Backend;
use crate::diagnostic::{Diagnostic, diagnostic};

/// A syntax and element sets that the backend has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Composition {
    /// `None` leaves it to the backend, record by record.
    pub(crate) syntax: Option<Oid>,
    elements: Elements,
}

/// Element set names, for all databases and for single ones.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Elements {
    generic: String,
    by_database: Vec<(String, String)>,
}

/// The element set where none is named.
const FULL: &str = "F";

impl Composition {
    /// What a Search with records in its answer wants.
    ///
    /// # Errors
    /// Condition 239 for a syntax and 25 for an element set that the backend does not have.
    pub(crate) fn of_names(
        backend: &dyn Backend,
        syntax: Option<Oid>,
        names: Option<&ElementSetNames>,
    ) -> Result<Self, Diagnostic> {
        let syntax = syntax
            .map(|syntax| known_syntax(backend, syntax))
            .transpose()?;
        let elements = names.map_or_else(
            || Ok(Elements::full()),
            |names| named(backend, names, syntax.as_ref()),
        )?;
        Ok(Self { syntax, elements })
    }

    /// What a Present wants. The syntaxes of a CompSpec go before the preferred one.
    ///
    /// # Errors
    /// As [`Composition::of_names`]; 1066 for a schema and 244 for an element specification.
    pub(crate) fn of_present(
        backend: &dyn Backend,
        syntax: Option<Oid>,
        composition: Option<&RecordComposition>,
    ) -> Result<Self, Diagnostic> {
        match composition {
            None => Self::of_names(backend, syntax, None),
            Some(RecordComposition::Simple(names)) => Self::of_names(backend, syntax, Some(names)),
            Some(RecordComposition::Complex(specification)) => {
                let syntax = specified_syntax(backend, specification, syntax)?;
                let elements = specified_elements(backend, specification, syntax.as_ref())?;
                Ok(Self { syntax, elements })
            }
        }
    }

    /// The element set for records of a database.
    pub(crate) fn element_set(&self, database: &str) -> &str {
        let mut by_database = self.elements.by_database.iter();
        by_database
            .find(|(name, _)| name.to_lowercase() == database.to_lowercase())
            .map_or(&self.elements.generic, |(_, element_set)| element_set)
    }
}

impl Elements {
    fn full() -> Self {
        Self {
            generic: FULL.to_owned(),
            by_database: Vec::new(),
        }
    }
}

fn known_syntax(backend: &dyn Backend, syntax: Oid) -> Result<Oid, Diagnostic> {
    match backend.has_syntax(&syntax) {
        true => Ok(syntax),
        false => Err(diagnostic(Condition::RECORD_SYNTAX, syntax.to_string())),
    }
}

fn known_element_set(
    backend: &dyn Backend,
    name: &InternationalString,
    syntax: Option<&Oid>,
) -> Result<String, Diagnostic> {
    match name.to_str() {
        Ok(known) if backend.has_element_set(known, syntax) => Ok(known.to_owned()),
        _ => Err(diagnostic(Condition::ELEMENT_SET_NAME, name.as_bytes())),
    }
}

fn named(
    backend: &dyn Backend,
    names: &ElementSetNames,
    syntax: Option<&Oid>,
) -> Result<Elements, Diagnostic> {
    match names {
        ElementSetNames::GenericElementSetName(name) => Ok(Elements {
            generic: known_element_set(backend, name, syntax)?,
            by_database: Vec::new(),
        }),
        ElementSetNames::DatabaseSpecific(names) => {
            let pairs = names.iter().map(|one| {
                let element_set = known_element_set(backend, &one.esn.0, syntax)?;
                Ok((database(&one.db_name), element_set))
            });
            Ok(Elements {
                by_database: pairs.collect::<Result<_, _>>()?,
                ..Elements::full()
            })
        }
    }
}

fn database(name: &DatabaseName) -> String {
    name.0.to_string_lossy().into_owned()
}

/// The first syntax of the list that the backend has; where it has none, selectAlternativeSyntax leaves the choice to it.
fn specified_syntax(
    backend: &dyn Backend,
    specification: &CompSpec,
    preferred: Option<Oid>,
) -> Result<Option<Oid>, Diagnostic> {
    let listed = specification.record_syntax.as_deref().unwrap_or_default();
    if let Some(available) = listed.iter().find(|syntax| backend.has_syntax(syntax)) {
        return Ok(Some(*available));
    }
    let Some(wanted) = listed.first().copied().or(preferred) else {
        return Ok(None);
    };
    match known_syntax(backend, wanted) {
        Err(_) if specification.select_alternative_syntax => Ok(None),
        chosen => chosen.map(Some),
    }
}

fn specified_elements(
    backend: &dyn Backend,
    specification: &CompSpec,
    syntax: Option<&Oid>,
) -> Result<Elements, Diagnostic> {
    let mut elements = Elements::full();
    if let Some(generic) = &specification.generic {
        elements.generic = specified(backend, generic, syntax)?;
    }
    for one in specification.db_specific.iter().flatten() {
        let element_set = specified(backend, &one.spec, syntax)?;
        elements.by_database.push((database(&one.db), element_set));
    }
    Ok(elements)
}

fn specified(
    backend: &dyn Backend,
    one: &Specification,
    syntax: Option<&Oid>,
) -> Result<String, Diagnostic> {
    use z3950_asn1::apdu::Schema;
    match &*one.schema {
        None => {}
        Some(Schema::Oid(schema)) => {
            return Err(diagnostic(Condition::SCHEMA, schema.to_string()));
        }
        Some(Schema::Uri(schema)) => {
            return Err(diagnostic(Condition::SCHEMA, schema.as_bytes()));
        }
    }
    match &one.element_spec {
        None => Ok(FULL.to_owned()),
        Some(ElementSpec::ElementSetName(name)) => known_element_set(backend, name, syntax),
        Some(ElementSpec::ExternalEspec(_)) => {
            Err(diagnostic(Condition::COMP_SPEC, "externalEspec"))
        }
    }
}
