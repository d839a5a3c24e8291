//! In which syntax and with which elements records are wanted (Z39.50-2003 §3.2.3.1.5, §3.6): element set names, also
//! for single databases, and the part of a CompSpec that says no more than these.

use z3950_asn1::apdu::{
    CompSpec, DatabaseName, ElementSetNames, ElementSpec, RecordComposition, Schema, Specification,
};
use z3950_asn1::bib1::diagnostics::Condition;
use z3950_asn1::oid::Oid;
use z3950_asn1::types::InternationalString;

use crate::backend::{Backend, Composition};
use crate::diagnostic::{Diagnostic, diagnostic};

/// The element set where none is named.
const FULL: &str = "F";

/// What a Search with records in its answer wants.
///
/// # Errors
/// Condition 239 for a syntax and 25 for an element set that the backend does not have.
pub(crate) fn of_names(
    backend: &dyn Backend,
    syntax: Option<Oid>,
    names: Option<&ElementSetNames>,
) -> Result<Composition, Diagnostic> {
    let syntax = syntax
        .map(|syntax| known_syntax(backend, syntax))
        .transpose()?;
    match names {
        None => Ok(full(syntax)),
        Some(names) => named(backend, names, syntax),
    }
}

/// What a Present wants. The syntaxes of a CompSpec go before the preferred one.
///
/// # Errors
/// As [`of_names`]; 1066 for a schema and 244 for an element specification that the backend does not have.
pub(crate) fn of_present(
    backend: &dyn Backend,
    syntax: Option<Oid>,
    composition: Option<&RecordComposition>,
) -> Result<Composition, Diagnostic> {
    match composition {
        None => of_names(backend, syntax, None),
        Some(RecordComposition::Simple(names)) => of_names(backend, syntax, Some(names)),
        Some(RecordComposition::Complex(specification)) => {
            let syntax = specified_syntax(backend, specification, syntax)?;
            specified_elements(backend, specification, syntax)
        }
    }
}

fn full(syntax: Option<Oid>) -> Composition {
    Composition {
        syntax,
        element_set: FULL.to_owned(),
        by_database: Vec::new(),
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
    syntax: Option<Oid>,
) -> Result<Composition, Diagnostic> {
    let mut composition = full(syntax);
    let known = |name| known_element_set(backend, name, syntax.as_ref());
    match names {
        ElementSetNames::GenericElementSetName(name) => composition.element_set = known(name)?,
        ElementSetNames::DatabaseSpecific(names) => {
            for one in names {
                let element_set = known(&one.esn.0)?;
                composition
                    .by_database
                    .push((database(&one.db_name), element_set));
            }
        }
    }
    Ok(composition)
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
    syntax: Option<Oid>,
) -> Result<Composition, Diagnostic> {
    let mut composition = full(syntax);
    if let Some(generic) = &specification.generic {
        composition.element_set = specified(backend, generic, syntax.as_ref())?;
    }
    for one in specification.db_specific.iter().flatten() {
        let element_set = specified(backend, &one.spec, syntax.as_ref())?;
        composition
            .by_database
            .push((database(&one.db), element_set));
    }
    Ok(composition)
}

fn specified(
    backend: &dyn Backend,
    one: &Specification,
    syntax: Option<&Oid>,
) -> Result<String, Diagnostic> {
    if let Some(schema) = &*one.schema {
        let known = backend.element_set_of_schema(schema, syntax);
        return known.ok_or_else(|| match schema {
            Schema::Oid(schema) => diagnostic(Condition::SCHEMA, schema.to_string()),
            Schema::Uri(schema) => diagnostic(Condition::SCHEMA, schema.as_bytes()),
        });
    }
    match &one.element_spec {
        None => Ok(FULL.to_owned()),
        Some(ElementSpec::ElementSetName(name)) => known_element_set(backend, name, syntax),
        Some(ElementSpec::ExternalEspec(_)) => {
            Err(diagnostic(Condition::COMP_SPEC, "externalEspec"))
        }
    }
}
