//! Writes a description, with its elements in the order of the schema.

use super::{ZeeRex, ZeeRexConfig, ZeeRexIndex, ZeeRexMap};
use crate::sru::ExplainResponse;
use crate::sru::xml::Writer;

impl ZeeRex {
    /// Returns the description as an `explain` element, for [`ExplainResponse::new`].
    pub fn to_xml(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(4096);
        let mut to = Writer {
            out: &mut out,
            prefix: "",
        };
        to.open("explain", &[("xmlns", ExplainResponse::SCHEMA)]);
        self.put_server(&mut to);
        self.put_database(&mut to);
        self.put_meta(&mut to);
        if !(self.sets.is_empty() && self.indexes.is_empty()) {
            to.begin("indexInfo");
            for set in &self.sets {
                let attributes = [("name", &*set.name), ("identifier", &*set.identifier)];
                to.open("set", &attributes);
                put_non_empty(&mut to, "title", &set.title);
                to.end("set");
            }
            for index in &self.indexes {
                put_index(&mut to, index);
            }
            to.end("indexInfo");
        }
        if !self.schemas.is_empty() {
            to.begin("schemaInfo");
            for schema in &self.schemas {
                let mut attributes =
                    vec![("name", &*schema.name), ("identifier", &*schema.identifier)];
                attributes.extend(flag("sort", schema.sort));
                attributes.extend(flag("retrieve", schema.retrieve));
                to.open("schema", &attributes);
                put_non_empty(&mut to, "title", &schema.title);
                to.end("schema");
            }
            to.end("schemaInfo");
        }
        put_config(&mut to, &self.config);
        to.end("explain");
        out
    }

    fn put_server(&self, to: &mut Writer<'_>) {
        let server = &self.server;
        let attributes = [
            ("protocol", &*server.protocol),
            ("version", &server.version),
            ("transport", &server.transport),
            ("method", &server.method),
        ];
        let given = attributes.iter().filter(|(_, value)| !value.is_empty());
        to.open("serverInfo", &given.copied().collect::<Vec<_>>());
        to.text("host", &server.host);
        to.number("port", server.port.map(u64::from));
        let records = server.records.map(|records| records.to_string());
        let records = records.as_deref().map(|records| ("numRecs", records));
        to.open("database", records.as_slice());
        to.content(&server.database);
        to.end("database");
        to.end("serverInfo");
    }

    fn put_database(&self, to: &mut Writer<'_>) {
        let database = &self.database;
        to.begin("databaseInfo");
        if !database.title.is_empty() {
            to.open("title", &[("lang", "en"), ("primary", "true")]);
            to.content(&database.title);
            to.end("title");
        }
        if !database.description.is_empty() {
            to.open("description", &[("lang", "en"), ("primary", "true")]);
            to.content(&database.description);
            to.end("description");
        }
        put_non_empty(to, "contact", &database.contact);
        if let Some(program) = &database.implementation {
            let attributes = [
                ("identifier", &*program.identifier),
                ("version", &program.version),
            ];
            let given = attributes.iter().filter(|(_, value)| !value.is_empty());
            to.open("implementation", &given.copied().collect::<Vec<_>>());
            put_non_empty(to, "title", &program.title);
            to.end("implementation");
        }
        if !database.links.is_empty() {
            to.begin("links");
            put_typed(to, "link", &database.links);
            to.end("links");
        }
        to.end("databaseInfo");
    }

    fn put_meta(&self, to: &mut Writer<'_>) {
        let parts = [
            ("dateModified", &self.meta.date_modified),
            ("aggregatedFrom", &self.meta.aggregated_from),
            ("dateAggregated", &self.meta.date_aggregated),
        ];
        if parts.iter().any(|(_, value)| value.is_some()) {
            to.begin("metaInfo");
            for (name, value) in parts {
                to.optional(name, value.as_deref());
            }
            to.end("metaInfo");
        }
    }
}

fn put_index(to: &mut Writer<'_>, index: &ZeeRexIndex) {
    let flags = [
        flag("search", index.search),
        flag("scan", index.scan),
        flag("sort", index.sort),
    ];
    to.open("index", &flags.into_iter().flatten().collect::<Vec<_>>());
    put_non_empty(to, "title", &index.title);
    for map in index.maps.iter().filter(|map| says_anything(map)) {
        to.begin("map");
        match map {
            ZeeRexMap::Name { set, name } => {
                let set = Some(("set", &**set)).filter(|(_, set)| !set.is_empty());
                to.open("name", set.as_slice());
                to.content(name);
                to.end("name");
            }
            ZeeRexMap::Attributes(attributes) => {
                for attribute in attributes.iter().filter(|one| !one.value.is_empty()) {
                    let number = attribute.attribute_type.to_string();
                    let mut given = vec![("type", &*number)];
                    if !attribute.set.is_empty() {
                        given.push(("set", &attribute.set));
                    }
                    to.open("attr", &given);
                    to.content(&attribute.value);
                    to.end("attr");
                }
            }
        }
        to.end("map");
    }
    if !index.supports.is_empty() {
        to.begin("configInfo");
        put_typed(to, "supports", &index.supports);
        to.end("configInfo");
    }
    to.end("index");
}

/// Returns whether a map has a name or an attribute. Empty maps are not written, because clients such as sru-queryer
/// fail on them.
fn says_anything(map: &ZeeRexMap) -> bool {
    match map {
        ZeeRexMap::Name { name, .. } => !name.is_empty(),
        ZeeRexMap::Attributes(attributes) => attributes.iter().any(|one| !one.value.is_empty()),
    }
}

fn put_config(to: &mut Writer<'_>, config: &ZeeRexConfig) {
    let lists = [
        ("default", &config.defaults),
        ("setting", &config.settings),
        ("supports", &config.supports),
    ];
    if lists.iter().any(|(_, list)| !list.is_empty()) {
        to.begin("configInfo");
        for (name, list) in lists {
            put_typed(to, name, list);
        }
        to.end("configInfo");
    }
}

/// Writes an element for each pair of type and value. The type is written as the attribute `type`.
fn put_typed(to: &mut Writer<'_>, name: &str, pairs: &[(String, String)]) {
    for (kind, value) in pairs {
        to.open(name, &[("type", kind)]);
        to.content(value);
        to.end(name);
    }
}

fn put_non_empty(to: &mut Writer<'_>, name: &str, text: &str) {
    to.optional(name, Some(text).filter(|text| !text.is_empty()));
}

fn flag(name: &'static str, flag: Option<bool>) -> Option<(&'static str, &'static str)> {
    flag.map(|flag| (name, if flag { "true" } else { "false" }))
}
