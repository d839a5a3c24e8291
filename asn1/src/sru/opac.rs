//! Reads OPAC records in the XML that SRU servers send (`opacRecord` of YAZ's `opacxml.xsd`, which has no namespace).

use bytes::Bytes;
use quick_xml::events::BytesStart;

use super::SruLimits;
use super::external::marc_external;
use super::xml::{ElementContent, XmlError, XmlReader, attribute, document, local_name};
use crate::apdu::External;
use crate::oid;
use crate::record::opac::{CircRecord, HoldingsAndCircData, HoldingsRecord, OpacRecord, Volume};
use crate::types::InternationalString;

impl OpacRecord {
    /// Parses an `opacRecord` element. Its bibliographic record becomes ISO 2709 if it is MARCXML. Unknown elements are
    /// skipped.
    ///
    /// # Errors
    /// [`XmlError`] for any other element, and for XML that exceeds `limits`.
    pub fn from_xml(octets: impl Into<Bytes>, limits: &SruLimits) -> Result<Self, XmlError> {
        let octets = document(octets.into(), limits)?;
        let mut xml = XmlReader::new(&octets, limits);
        let root = xml.root()?;
        if local_name(&root) != "opacRecord" {
            return Err(XmlError::element(local_name(&root)));
        }
        let mut record = Self::default();
        let mut holdings = Vec::new();
        while let Some(start) = xml.child()? {
            match local_name(&start) {
                "bibliographicRecord" => record.bibliographic_record = embedded(&mut xml)?,
                "holdings" => {
                    while let Some(start) = xml.child()? {
                        match local_name(&start) {
                            "holding" => {
                                let data = Box::new(holding(&mut xml)?);
                                holdings.push(HoldingsRecord::HoldingsAndCirc(data));
                            }
                            "marcHoldingsRecord" => {
                                let record = embedded(&mut xml)?.map(Box::new);
                                holdings.extend(record.map(HoldingsRecord::MarcHoldingsRecord));
                            }
                            _ => xml.skip()?,
                        }
                    }
                }
                _ => xml.skip()?,
            }
        }
        record.holdings_data = Some(holdings).filter(|holdings| !holdings.is_empty());
        Ok(record)
    }
}

/// Parses a record within an OPAC record; `None` if there is only text.
fn embedded(xml: &mut XmlReader<'_>) -> Result<Option<External>, XmlError> {
    Ok(match xml.content()? {
        ElementContent::Markup(data) => {
            Some(marc_external(&data).unwrap_or_else(|| External::octet_aligned(oid::XML, data)))
        }
        ElementContent::Text(_) => None,
    })
}

fn text(xml: &mut XmlReader<'_>) -> Result<Option<InternationalString>, XmlError> {
    Ok(Some(xml.text()?.as_str().into()))
}

/// Parses a flag such as `<onHold value="1"/>`.
fn flag(xml: &mut XmlReader<'_>, start: &BytesStart<'_>) -> Result<bool, XmlError> {
    let value = attribute(start, "value").unwrap_or_default();
    xml.skip()?;
    Ok(matches!(value.trim(), "1" | "true"))
}

fn holding(xml: &mut XmlReader<'_>) -> Result<HoldingsAndCircData, XmlError> {
    let mut data = HoldingsAndCircData::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "typeOfRecord" => data.type_of_record = text(xml)?,
            "encodingLevel" => data.encoding_level = text(xml)?,
            "format" => data.format = text(xml)?,
            "receiptAcqStatus" => data.receipt_acq_status = text(xml)?,
            "generalRetention" => data.general_retention = text(xml)?,
            "completeness" => data.completeness = text(xml)?,
            "dateOfReport" => data.date_of_report = text(xml)?,
            "nucCode" => data.nuc_code = text(xml)?,
            "localLocation" => data.local_location = text(xml)?,
            "shelvingLocation" => data.shelving_location = text(xml)?,
            "callNumber" => data.call_number = text(xml)?,
            "shelvingData" => data.shelving_data = text(xml)?,
            "copyNumber" => data.copy_number = text(xml)?,
            "publicNote" => data.public_note = text(xml)?,
            "reproductionNote" => data.reproduction_note = text(xml)?,
            "termsUseRepro" => data.terms_use_repro = text(xml)?,
            "enumAndChron" => data.enum_and_chron = text(xml)?,
            "volumes" => {
                let volumes = data.volumes.get_or_insert_default();
                while xml.child()?.is_some() {
                    volumes.push(volume(xml)?);
                }
            }
            "circulations" => {
                let items = data.circulation_data.get_or_insert_default();
                while xml.child()?.is_some() {
                    items.push(item(xml)?);
                }
            }
            _ => xml.skip()?,
        }
    }
    Ok(data)
}

fn volume(xml: &mut XmlReader<'_>) -> Result<Volume, XmlError> {
    let mut volume = Volume::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "enumeration" => volume.enumeration = text(xml)?,
            "chronology" => volume.chronology = text(xml)?,
            "enumAndChron" => volume.enum_and_chron = text(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(volume)
}

fn item(xml: &mut XmlReader<'_>) -> Result<CircRecord, XmlError> {
    let mut item = CircRecord::default();
    while let Some(start) = xml.child()? {
        match local_name(&start) {
            "availableNow" => item.available_now = flag(xml, &start)?,
            "availabilityDate" | "availablityDate" => item.availability_date = text(xml)?,
            "availableThru" => item.available_thru = text(xml)?,
            "restrictions" => item.restrictions = text(xml)?,
            "itemId" => item.item_id = text(xml)?,
            "renewable" => item.renewable = flag(xml, &start)?,
            "onHold" => item.on_hold = flag(xml, &start)?,
            "enumAndChron" => item.enum_and_chron = text(xml)?,
            "midspine" => item.midspine = text(xml)?,
            "temporaryLocation" => item.temporary_location = text(xml)?,
            _ => xml.skip()?,
        }
    }
    Ok(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RetrievedRecord;

    fn read(xml: &str) -> Result<OpacRecord, XmlError> {
        OpacRecord::from_xml(xml.to_owned(), &SruLimits::default())
    }

    #[test]
    fn opac_records_come_back_as_they_were_written() {
        let marc = "<record xmlns=\"http://www.loc.gov/MARC21/slim\"><leader>00000nam a2200000   4500</leader>\
                    <controlfield tag=\"001\">id7</controlfield></record>";
        let some = |text: &str| Some(text.into());
        let record = OpacRecord {
            bibliographic_record: marc_external(&Bytes::from(marc)),
            holdings_data: Some(vec![
                HoldingsRecord::HoldingsAndCirc(Box::new(HoldingsAndCircData {
                    type_of_record: some("x"),
                    local_location: some("Main <2>"),
                    call_number: some("Z 3950"),
                    volumes: Some(vec![Volume {
                        enumeration: some("v.1"),
                        chronology: some("1995"),
                        enum_and_chron: None,
                    }]),
                    circulation_data: Some(vec![CircRecord {
                        available_now: true,
                        item_id: some("b1"),
                        ..CircRecord::default()
                    }]),
                    ..HoldingsAndCircData::default()
                })),
                HoldingsRecord::HoldingsAndCirc(Box::default()),
            ]),
        };
        let external = record.bibliographic_record.as_ref().expect("a record");
        assert!(matches!(
            RetrievedRecord::of(external),
            RetrievedRecord::Marc(_)
        ));
        assert_eq!(read(&record.to_xml()), Ok(record));
    }

    #[test]
    fn other_values_than_opac_records_are_refused_or_skipped() {
        let empty = OpacRecord::default();
        for (xml, expected) in [
            ("<opacRecord/>", Ok(empty.clone())),
            (
                "<opacRecord><holdings/><new>x</new></opacRecord>",
                Ok(empty.clone()),
            ),
            (
                "<opacRecord><bibliographicRecord>text</bibliographicRecord></opacRecord>",
                Ok(empty),
            ),
            ("<record/>", Err(XmlError::element("record"))),
            ("<opacRecord>", Err(XmlError::Unfinished)),
        ] {
            assert_eq!(read(xml), expected, "{xml}");
        }
        let other =
            read("<opacRecord><bibliographicRecord><dc/></bibliographicRecord></opacRecord>");
        let external = other.expect("a record").bibliographic_record.expect("one");
        assert_eq!(external, External::octet_aligned(oid::XML, &b"<dc/>"[..]));
    }
}
