//! Reads a description in any version and any namespace. Missing values are empty, and unknown elements are skipped.

use bytes::Bytes;
use quick_xml::events::BytesStart;

use super::{
    ContextSet, ZeeRex, ZeeRexAttribute, ZeeRexConfig, ZeeRexDatabase, ZeeRexImplementation,
    ZeeRexIndex, ZeeRexMap, ZeeRexMeta, ZeeRexSchema, ZeeRexServer,
};
use crate::sru::SruLimits;
use crate::sru::xml::{XmlError, XmlReader, attribute, document, local_name};

impl ZeeRex {
    /// Parses an `explain` element, which is the record in an [`ExplainResponse`](crate::sru::ExplainResponse).
    ///
    /// # Errors
    /// [`XmlError`] for any other element, and for XML that exceeds `limits`.
    pub fn from_xml(octets: impl Into<Bytes>, limits: &SruLimits) -> Result<Self, XmlError> {
        let octets = document(octets.into(), limits)?;
        let mut xml = XmlReader::new(&octets, limits);
        let root = xml.root()?;
        if local_name(&root) != "explain" {
            return Err(XmlError::element(local_name(&root)));
        }
        // Begin with unknown values for everything that the description does not state.
        let mut description = Self {
            server: unknown_server(),
            ..Self::default()
        };
        while let Some(start) = xml.child()? {
            match local_name(&start) {
                "serverInfo" => description.server = server(&mut xml, &start)?,
                "databaseInfo" => description.database = database(&mut xml)?,
                "metaInfo" => description.meta = meta(&mut xml)?,
                "indexInfo" => indexes(&mut xml, &mut description)?,
                "schemaInfo" => schemas(&mut xml, &mut description.schemas)?,
                "configInfo" => config(&mut xml, &mut description.config)?,
                _ => xml.skip()?,
            }
        }
        Ok(description)
    }
}

fn text_of(start: &BytesStart<'_>, name: &str) -> String {
    attribute(start, name).unwrap_or_default()
}

fn flag(start: &BytesStart<'_>, name: &str) -> Option<bool> {
    let value = attribute(start, name)?;
    Some(matches!(value.trim(), "true" | "1"))
}

fn unknown_server() -> ZeeRexServer {
    ZeeRexServer {
        protocol: String::new(),
        version: String::new(),
        transport: String::new(),
        method: String::new(),
        ..ZeeRexServer::default()
    }
}

fn server(xml: &mut XmlReader<'_>, start: &BytesStart<'_>) -> Result<ZeeRexServer, XmlError> {
    let mut server = ZeeRexServer {
        protocol: text_of(start, "protocol"),
        version: text_of(start, "version"),
        transport: text_of(start, "transport"),
        method: text_of(start, "method"),
        ..unknown_server()
    };
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "host" => server.host = xml.text()?,
            "port" => server.port = xml.text()?.parse().ok(),
            "database" => {
                server.records = attribute(&start, "numRecs").and_then(|text| text.parse().ok());
                server.database = xml.text()?;
            }
            _ => xml.skip()?,
        }
    }
    Ok(server)
}

/// Reads `databaseInfo`. If a text occurs in several languages, the primary one is used, or the first if none is
/// primary.
fn database(xml: &mut XmlReader<'_>) -> Result<ZeeRexDatabase, XmlError> {
    let mut database = ZeeRexDatabase::default();
    while let Some(start) = xml.child()? {
        let is_primary = flag(&start, "primary") == Some(true);
        match local_name(&start) {
            "title" => take_text(xml, &mut database.title, is_primary)?,
            "description" => take_text(xml, &mut database.description, is_primary)?,
            "contact" => take_text(xml, &mut database.contact, is_primary)?,
            "implementation" => {
                let mut program = ZeeRexImplementation {
                    identifier: text_of(&start, "identifier"),
                    version: text_of(&start, "version"),
                    title: String::new(),
                };
                title(xml, &mut program.title)?;
                database.implementation = Some(program);
            }
            "links" => {
                while let Some(start) = xml.child()? {
                    let kind = text_of(&start, "type");
                    database.links.push((kind, xml.text()?));
                }
            }
            _ => xml.skip()?,
        }
    }
    Ok(database)
}

fn take_text(
    xml: &mut XmlReader<'_>,
    field: &mut String,
    is_primary: bool,
) -> Result<(), XmlError> {
    let text = xml.text()?;
    if field.is_empty() || is_primary {
        *field = text;
    }
    Ok(())
}

/// Reads the title in an element into `field`, and skips the other elements in it.
fn title(xml: &mut XmlReader<'_>, field: &mut String) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "title" => take_text(xml, field, flag(&start, "primary") == Some(true))?,
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn meta(xml: &mut XmlReader<'_>) -> Result<ZeeRexMeta, XmlError> {
    let mut meta = ZeeRexMeta::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "dateModified" => meta.date_modified = Some(xml.text()?),
            "aggregatedFrom" => meta.aggregated_from = Some(xml.text()?),
            "dateAggregated" => meta.date_aggregated = Some(xml.text()?),
            _ => xml.skip()?,
        }
    }
    Ok(meta)
}

fn indexes(xml: &mut XmlReader<'_>, description: &mut ZeeRex) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "set" => {
                let mut set = ContextSet {
                    name: text_of(&start, "name"),
                    identifier: text_of(&start, "identifier"),
                    title: String::new(),
                };
                title(xml, &mut set.title)?;
                description.sets.push(set);
            }
            "index" => description.indexes.push(index(xml, &start)?),
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn index(xml: &mut XmlReader<'_>, start: &BytesStart<'_>) -> Result<ZeeRexIndex, XmlError> {
    let mut index = ZeeRexIndex {
        search: flag(start, "search"),
        scan: flag(start, "scan"),
        sort: flag(start, "sort"),
        ..ZeeRexIndex::default()
    };
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "title" => {
                let is_primary = flag(&start, "primary") == Some(true);
                take_text(xml, &mut index.title, is_primary)?;
            }
            "map" => map(xml, &mut index.maps)?,
            "configInfo" => {
                let mut found = ZeeRexConfig::default();
                config(xml, &mut found)?;
                index.supports.append(&mut found.supports);
            }
            _ => xml.skip()?,
        }
    }
    Ok(index)
}

fn map(xml: &mut XmlReader<'_>, maps: &mut Vec<ZeeRexMap>) -> Result<(), XmlError> {
    let mut attributes = Vec::new();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "name" => maps.push(ZeeRexMap::Name {
                set: text_of(&start, "set"),
                name: xml.text()?,
            }),
            "attr" => attributes.push(ZeeRexAttribute {
                set: text_of(&start, "set"),
                // If the element does not state the attribute type, the type is Use (1).
                attribute_type: text_of(&start, "type").trim().parse().unwrap_or(1),
                value: xml.text()?,
            }),
            _ => xml.skip()?,
        }
    }
    // Some servers send empty elements for indexes that have no name or value.
    maps.retain(|map| !matches!(map, ZeeRexMap::Name { name, .. } if name.is_empty()));
    attributes.retain(|attribute| !attribute.value.is_empty());
    if !attributes.is_empty() {
        maps.push(ZeeRexMap::Attributes(attributes));
    }
    Ok(())
}

fn schemas(xml: &mut XmlReader<'_>, schemas: &mut Vec<ZeeRexSchema>) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "schema" => {
                let mut schema = ZeeRexSchema {
                    name: text_of(&start, "name"),
                    identifier: text_of(&start, "identifier"),
                    title: String::new(),
                    retrieve: flag(&start, "retrieve"),
                    sort: flag(&start, "sort"),
                };
                title(xml, &mut schema.title)?;
                schemas.push(schema);
            }
            _ => xml.skip()?,
        }
    }
    Ok(())
}

fn config(xml: &mut XmlReader<'_>, config: &mut ZeeRexConfig) -> Result<(), XmlError> {
    while let Some(start) = xml.child()? {
        let list = match local_name(&start) {
            "default" => &mut config.defaults,
            "setting" => &mut config.settings,
            "supports" => &mut config.supports,
            _ => {
                xml.skip()?;
                continue;
            }
        };
        list.push((text_of(&start, "type"), xml.text()?));
    }
    Ok(())
}
