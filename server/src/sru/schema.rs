//! Record schemas: their names in SRU, and the corresponding syntaxes and element sets in Z39.50.

use z3950_asn1::apdu::Schema;
use z3950_asn1::oid::{OPAC, Oid, XML};
use z3950_asn1::sru::{SruCondition, SruDiagnostic, root_of};

use crate::backend::Backend;

/// A schema that the server supports.
#[derive(Debug)]
pub(super) struct KnownSchema {
    /// The short name of the schema in SRU.
    pub(super) name: &'static str,
    /// The identifier of the schema in SRU.
    pub(super) identifier: &'static str,
    pub(super) title: &'static str,
    /// Further names and identifiers that clients use.
    others: &'static [&'static str],
    syntax: Oid,
    /// The namespace and the name of the root element.
    root: (&'static str, &'static str),
}

/// The supported schemas; the first one is the default.
pub(super) const SCHEMAS: &[KnownSchema] = &[
    KnownSchema::MARCXML,
    KnownSchema {
        name: "dc",
        identifier: SRW_DC,
        title: "Dublin Core",
        others: &["info:srw/schema/1/dc-v1.0", "info:srw/schema/1/dc-schema"],
        syntax: XML,
        root: ("info:srw/schema/1/dc-schema", "dc"),
    },
    KnownSchema {
        name: "oai_dc",
        identifier: OAI_DC,
        title: "Dublin Core as in OAI-PMH",
        others: &[],
        syntax: XML,
        root: (OAI_DC, "dc"),
    },
    KnownSchema {
        name: "mods",
        identifier: "info:srw/schema/1/mods-v3.7",
        title: "MODS 3",
        others: &[
            "http://www.loc.gov/mods/v3",
            "mods3",
            "info:srw/schema/1/mods-v3.0",
            "info:srw/schema/1/mods-v3.1",
            "info:srw/schema/1/mods-v3.2",
            "info:srw/schema/1/mods-v3.3",
            "info:srw/schema/1/mods-v3.4",
            "info:srw/schema/1/mods-v3.5",
            "info:srw/schema/1/mods-v3.6",
            "info:srw/schema/1/mods-v3.8",
        ],
        syntax: XML,
        root: ("http://www.loc.gov/mods/v3", "mods"),
    },
    KnownSchema {
        name: "opac",
        identifier: "urn:oid:1.2.840.10003.5.102",
        title: "MARCXML with holdings",
        others: &["OP", "opacxml"],
        syntax: OPAC,
        root: ("", "opacRecord"),
    },
];

/// The identifier of Dublin Core in SRU's own root element.
pub(super) const SRW_DC: &str = "info:srw/schema/1/dc-v1.1";
const OAI_DC: &str = "http://www.openarchives.org/OAI/2.0/oai_dc/";

/// The form of the records in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordForm {
    /// The identifier of the schema.
    pub(super) identifier: String,
    pub(super) syntax: Oid,
    pub(super) element_set: String,
}

impl RecordForm {
    /// Returns the form for a schema by name or identifier, regardless of case; for `None`, the form of the first schema that the
    /// backend supports.
    ///
    /// # Errors
    /// Diagnostic 66 for a schema that the backend does not support.
    pub(super) fn of(schema: Option<&str>, backend: &dyn Backend) -> Result<Self, SruDiagnostic> {
        let unknown = |name: &str| SruDiagnostic::new(SruCondition::SCHEMA, name);
        let Some(name) = schema else {
            let mut available = SCHEMAS.iter().filter_map(|schema| schema.form(backend));
            return available.next().ok_or_else(|| unknown("xml"));
        };
        let form = match SCHEMAS.iter().find(|known| known.is_called(name)) {
            Some(known) => known.form(backend),
            None => element_set(backend, name).map(|element_set| Self {
                identifier: name.to_owned(),
                syntax: XML,
                element_set,
            }),
        };
        form.ok_or_else(|| unknown(name))
    }
}

/// Returns whether a well-formed element can be returned as a record in the schema with this identifier. Schemas that only a
/// backend knows are not checked here.
pub(super) fn is_of_schema(element: &[u8], identifier: &str) -> bool {
    let known = SCHEMAS.iter().find(|known| known.identifier == identifier);
    known.is_none_or(|known| {
        let root = root_of(element);
        root.is_some_and(|(namespace, name)| (&*namespace, &*name) == known.root)
    })
}

impl KnownSchema {
    /// The schema of MARCXML records.
    pub(super) const MARCXML: Self = Self {
        name: "marcxml",
        identifier: "info:srw/schema/1/marcxml-v1.1",
        title: "MARCXML",
        others: &[
            "info:srw/schema/1/marcxml-1.1",
            "info:srw/schema/1/marcxml-v1.0",
            "http://www.loc.gov/MARC21/slim",
            "MARC21-xml",
        ],
        syntax: XML,
        root: ("http://www.loc.gov/MARC21/slim", "record"),
    };

    /// Returns whether this is a name or identifier of the schema; case is ignored.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let own = [self.name, self.identifier];
        let mut names = own.iter().chain(self.others);
        names.any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Returns the form of records in this schema; `None` if the backend does not support it.
    pub(super) fn form(&self, backend: &dyn Backend) -> Option<RecordForm> {
        if !backend.has_syntax(&self.syntax) {
            return None;
        }
        let full = || "F".to_owned();
        let element_set = match self.name {
            "opac" => Some(full()),
            // If a backend does not know about schemas, its full XML records are taken to be MARCXML.
            "marcxml" => element_set(backend, self.identifier).or_else(|| Some(full())),
            _ => element_set(backend, self.identifier),
        };
        Some(RecordForm {
            identifier: self.identifier.to_owned(),
            syntax: self.syntax,
            element_set: element_set?,
        })
    }
}

fn element_set(backend: &dyn Backend, schema: &str) -> Option<String> {
    let schema = Schema::Uri(schema.into());
    let syntax = Some(&XML).filter(|syntax| backend.has_syntax(syntax));
    backend.element_set_of_schema(&schema, Some(syntax?))
}
