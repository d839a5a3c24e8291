//! Checks that records are returned in the requested syntax, and are well-formed (Z39.50-2003 §3.2.3.1.5, Appendix REC).

use z3950_asn1::apdu::{
    CompSpec, ElementSpec, External, ExternalEncoding, PresentResponse, RecordComposition,
    Specification,
};
use z3950_asn1::codec::decode_value;
use z3950_asn1::oid::{GRS_1, OPAC, Oid, SUTRS, UNIMARC, USMARC, XML};
use z3950_asn1::record::RetrievedRecord;
use z3950_asn1::types::InternationalString;
use z3950_marc::iso2709;

use crate::server::answers::{Refusable, WithRecords};
use crate::server::check::{Check, checks};
use crate::server::requests::present;
use crate::server::trial::Trial;
use crate::server::verdict::{Checked, Preparation, Verdict, counted, want};

const RECORDS: &str = "Z39.50-2003 Appendix REC";
const SYNTAX: &str = "Z39.50-2003 §3.2.3.1.5";

pub(super) const CHECKS: &[Check] = checks! {
    "syntax.usmarc" Shall RECORDS:
        "A USMARC record is ISO 2709 in an OCTET STRING."
        => marc(USMARC);
    "syntax.usmarc.sound" Practice "practice: clients read lengths and directory":
        "Lengths and directory of a USMARC record are right."
        => sound(USMARC);
    "syntax.unimarc" Shall RECORDS:
        "A UNIMARC record is ISO 2709 in an OCTET STRING."
        => marc(UNIMARC);
    "syntax.unimarc.sound" Practice "practice: clients read lengths and directory":
        "Lengths and directory of a UNIMARC record are right."
        => sound(UNIMARC);
    "syntax.sutrs" Shall RECORDS:
        "A SUTRS record is one InternationalString."
        => sutrs;
    "syntax.xml" Shall RECORDS:
        "An XML record is a document in an OCTET STRING."
        => xml;
    "syntax.grs-1" Shall RECORDS:
        "A GRS-1 record is a GenericRecord."
        => grs_1;
    "syntax.opac" Shall RECORDS:
        "An OPAC record is an OPACRecord."
        => opac;
    "syntax.omitted" Should SYNTAX:
        "Without a preferred syntax, the server chooses one."
        => omitted;
    "syntax.labelled" Shall "Z39.50-2003 §4.1 NamePlusRecord":
        "A record carries the identifier of its syntax."
        => labelled;
    "syntax.unknown" Shall SYNTAX:
        "A record in a syntax that does not exist is refused with a diagnostic, or comes in another."
        => unknown;
    "syntax.unknown.code" Should "Bib-1 diagnostics 238, 239":
        "A record in a syntax that does not exist is refused with 238 or 239."
        => unknown_code;
    "syntax.not-a-syntax" Practice SYNTAX:
        "A syntax that is an attribute set is refused with a diagnostic, or the record comes in another."
        => not_a_syntax;
    "syntax.after-refusal" Shall SYNTAX:
        "After a syntax that was refused, the record comes in another."
        => after_refusal;
    "syntax.complex" Should "Z39.50-2003 §3.6.3":
        "A compSpec with a record syntax brings the record in that syntax, or is refused with 244."
        => complex;
    "syntax.complex.second" Practice "Z39.50-2003 §3.6.3":
        "Of the syntaxes of a compSpec, a later one is used if the first is not there."
        => second_choice;
};

/// Requests the first record in this syntax; returns the answer.
async fn first_in(trial: &mut Trial, syntax: Oid) -> Checked<PresentResponse> {
    let mut request = trial.present(1, 1);
    request.preferred_record_syntax = Some(syntax);
    trial.ask(request).await
}

/// Returns the first record in this syntax. Ends the check if the server does not offer the syntax.
async fn record_in(trial: &mut Trial, syntax: Oid) -> Checked<External> {
    trial.hits(1).await?;
    if !trial.offer.syntaxes.contains(&syntax) {
        let name = syntax.name().unwrap_or_default();
        return Err(Verdict::not_offered(format!(
            "the first record did not come in {name}"
        )));
    }
    let response = first_in(trial, syntax).await?;
    response.first_record().cloned()
}

fn octets_of(record: &External) -> Checked<bytes::Bytes> {
    match &record.encoding {
        ExternalEncoding::OctetAligned(octets) => Ok(octets.to_bytes()),
        _ => Err(Verdict::fail(
            "a record that is an OCTET STRING",
            "another encoding",
        )),
    }
}

async fn marc(trial: &mut Trial, syntax: Oid) -> Checked {
    let octets = octets_of(&record_in(trial, syntax).await?)?;
    match iso2709::parse(&octets) {
        Ok(parsed) => want(
            !parsed.record.fields.is_empty(),
            "a record of ISO 2709",
            || "a record without fields".to_owned(),
        ),
        Err(error) => Err(Verdict::fail("a record of ISO 2709", error.to_string())),
    }
}

async fn sound(trial: &mut Trial, syntax: Oid) -> Checked {
    let octets = octets_of(&record_in(trial, syntax).await.given()?).given()?;
    match iso2709::parse_strict(&octets) {
        Ok(_) => Ok(()),
        Err(error) => Err(Verdict::fail(
            "a sound record of ISO 2709",
            error.to_string(),
        )),
    }
}

async fn sutrs(trial: &mut Trial) -> Checked {
    let record = record_in(trial, SUTRS).await?;
    match &record.encoding {
        ExternalEncoding::SingleAsn1Type(value) => {
            let text = decode_value::<InternationalString>(value.as_bytes());
            want(text.is_ok(), "an InternationalString", || {
                "another value".to_owned()
            })
        }
        _ => Err(Verdict::fail("a value of ASN.1", "octets")),
    }
}

async fn xml(trial: &mut Trial) -> Checked {
    let octets = octets_of(&record_in(trial, XML).await?)?;
    let text = octets
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(&octets);
    let text = text.trim_ascii();
    want(
        text.starts_with(b"<") && text.ends_with(b">"),
        "an XML document",
        || format!("{} that are not a document", counted(octets.len(), "octet")),
    )
}

async fn grs_1(trial: &mut Trial) -> Checked {
    let record = record_in(trial, GRS_1).await?;
    let holds = matches!(RetrievedRecord::of(&record), RetrievedRecord::Grs1(_));
    want(holds, "a GenericRecord", || "another value".to_owned())
}

async fn opac(trial: &mut Trial) -> Checked {
    let record = record_in(trial, OPAC).await?;
    let holds = matches!(RetrievedRecord::of(&record), RetrievedRecord::Opac(_));
    want(holds, "an OPACRecord", || "another value".to_owned())
}

async fn omitted(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    trial.ask(present(1, 1)).await?.first_record().map(drop)
}

async fn labelled(trial: &mut Trial) -> Checked {
    trial.hits(1).await?;
    let response = trial.ask(trial.present(1, 1)).await?;
    let record = response.first_record().given()?;
    let is_labelled = record.direct_reference.is_some() || record.indirect_reference.is_some();
    want(
        is_labelled,
        "a record with the identifier of its syntax",
        || response.summary(),
    )
}

/// Requests a record in a syntax that does not exist. Fails if the answer claims to have a record in this syntax.
async fn in_none(trial: &mut Trial, syntax: Oid) -> Checked<PresentResponse> {
    trial.hits(1).await?;
    let response = first_in(trial, syntax).await?;
    if let Ok(record) = response.first_record() {
        let is_labelled_so = record.direct_reference == Some(syntax);
        want(
            !is_labelled_so,
            "a diagnostic, or a record in another syntax",
            || response.summary(),
        )?;
    } else if response.surrogates().is_empty() {
        response.refused()?;
    }
    Ok(response)
}

async fn unknown(trial: &mut Trial) -> Checked {
    in_none(trial, Oid::z3950(&[5, 9999])).await.map(drop)
}

async fn unknown_code(trial: &mut Trial) -> Checked {
    let response = in_none(trial, Oid::z3950(&[5, 9999])).await.given()?;
    if response.first_record().is_ok() {
        return Err(Verdict::not_offered("the record comes in another syntax"));
    }
    let found = response.all_diagnostics();
    let holds = found.iter().any(|one| matches!(one.condition, 238 | 239));
    want(holds, "diagnostic 238 or 239", || response.summary())
}

async fn not_a_syntax(trial: &mut Trial) -> Checked {
    in_none(trial, Oid::z3950(&[3, 1])).await.map(drop)
}

async fn after_refusal(trial: &mut Trial) -> Checked {
    in_none(trial, Oid::z3950(&[5, 9999])).await.given()?;
    trial.ask(trial.present(1, 1)).await?.has_records(1)
}

/// Requests the first record with a compSpec that lists these syntaxes; returns the answer.
async fn composed(trial: &mut Trial, syntaxes: &[Oid]) -> Checked<PresentResponse> {
    trial.hits(1).await?;
    trial.needs_version_3()?;
    let mut request = trial.present(1, 1);
    let generic = Specification {
        element_spec: Some(ElementSpec::ElementSetName("F".into())),
        ..Specification::default()
    };
    let spec = CompSpec {
        select_alternative_syntax: false,
        generic: Some(generic),
        db_specific: None,
        record_syntax: Some(syntaxes.into()),
    };
    request.preferred_record_syntax = None;
    request.record_composition = RecordComposition::Complex(Box::new(spec)).into();
    let response = trial.ask(request).await?;
    response.not_offered_if(&[244])?;
    Ok(response)
}

async fn complex(trial: &mut Trial) -> Checked {
    let syntax = trial.offer.syntaxes.first().copied();
    let syntax = syntax.ok_or_else(|| Verdict::not_judged("no record syntax is known"))?;
    let response = composed(trial, &[syntax]).await?;
    let record = response.first_record()?;
    want(
        record.direct_reference == Some(syntax),
        format!("a record in {syntax}"),
        || response.summary(),
    )
}

async fn second_choice(trial: &mut Trial) -> Checked {
    let syntax = trial.offer.syntaxes.first().copied();
    let syntax = syntax.ok_or_else(|| Verdict::not_judged("no record syntax is known"))?;
    let response = composed(trial, &[Oid::z3950(&[5, 9999]), syntax]).await?;
    let record = response.first_record()?;
    want(
        record.direct_reference == Some(syntax),
        format!("a record in {syntax}"),
        || response.summary(),
    )
}
