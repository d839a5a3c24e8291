//! Tests for holdings from every kind of record, as a table and as values.

use z3950_marc::mrk;

use super::table::WIDEST;
use super::*;
use crate::apdu::ExternalValue as _;
use crate::oid;
use crate::record::opac::Volume;
use crate::record::sutrs_external;

fn opac(holdings: Vec<HoldingsAndCircData>) -> OpacRecord {
    let holdings = holdings
        .into_iter()
        .map(|data| HoldingsRecord::HoldingsAndCirc(Box::new(data)));
    OpacRecord {
        bibliographic_record: None,
        holdings_data: Some(holdings.collect()),
    }
}

fn item(id: &str, available_now: bool) -> CircRecord {
    CircRecord {
        available_now,
        item_id: Some(id.into()),
        ..CircRecord::default()
    }
}

fn check(holdings: &[Holding], expected: &str) {
    assert_eq!(table(holdings), expected, "{holdings:#?}");
}

fn check_marc(fields: &str, expected: &str) {
    let text = format!("=LDR  00000nam a2200000 a 4500\n=001  id7\n{fields}");
    let records = mrk::parse_all(&text).expect("a record");
    check(&of_marc(&records[0]), expected);
}

/// Tests records as sent by Alma, FOLIO and Voyager, with a location and its items.
#[test]
fn items_of_an_opac_record() {
    let data = HoldingsAndCircData {
        nuc_code: Some("Cornell University".into()),
        local_location: Some("Olin Library".into()),
        shelving_location: Some("".into()),
        call_number: Some(" CB19 .G69\n 2021 ".into()),
        volumes: Some(vec![Volume {
            enumeration: Some("v.1".into()),
            chronology: Some("2021".into()),
            ..Volume::default()
        }]),
        circulation_data: Some(vec![
            CircRecord {
                temporary_location: Some("Olin Reserve".into()),
                availability_date: Some("2026-01-01".into()),
                ..item("1", true)
            },
            CircRecord {
                availability_date: Some("2026-12-01".into()),
                restrictions: Some("Checked out".into()),
                on_hold: true,
                enum_and_chron: Some("v.2".into()),
                ..item("2", false)
            },
        ]),
        ..HoldingsAndCircData::default()
    };
    let both = of_opac(&opac(vec![data.clone()]), None);
    check(
        &both,
        "  Library             Location      Now at        Call number     Volume  Available  Due         Holds  Item  Restrictions\n  \
         Cornell University  Olin Library  Olin Reserve  CB19 .G69 2021          yes                           1\n  \
         Cornell University  Olin Library                CB19 .G69 2021  v.2     no         2026-12-01  yes    2     Checked out\n",
    );
    let only = HoldingsAndCircData {
        circulation_data: Some(vec![item("1", true)]),
        ..data
    };
    let only = of_opac(&opac(vec![only]), None);
    assert_eq!(only[0].volume.as_deref(), Some("v.1 (2021)"));
    assert_eq!(
        (only[0].due.as_deref(), only[0].on_hold),
        (None, Some(false))
    );
}

/// Tests records as sent by Sierra and Millennium, with the status in the public note and without items.
#[test]
fn a_status_in_the_public_note() {
    let noted = |note: &str| HoldingsAndCircData {
        local_location: Some("Circulation".into()),
        public_note: Some(note.into()),
        ..HoldingsAndCircData::default()
    };
    let notes = ["AVAILABLE", "DUE 01-11-23 +1 HOLD", "CHECK SHELVES"];
    check(
        &of_opac(&opac(notes.map(noted).into()), None),
        "  Location     Available  Due       Holds  Status                Note\n  \
         Circulation  yes                         AVAILABLE\n  \
         Circulation  no         01-11-23  1      DUE 01-11-23 +1 HOLD\n  \
         Circulation                                                    CHECK SHELVES\n",
    );
    // The note of a borrowed item contains a date, which is shown as its due date.
    let lent = HoldingsAndCircData {
        circulation_data: Some(vec![item("1", false)]),
        ..noted("Due 2026-12-01")
    };
    let lent = of_opac(&opac(vec![lent]), None);
    assert_eq!(lent[0].due.as_deref(), Some("2026-12-01"));
}

#[test]
fn records_inside_an_opac_record() {
    let marc = |text: &str| {
        let text = format!("=LDR  00000nx  a2200000   4500\n=001  h1\n{text}");
        let records = mrk::parse_all(&text).expect("a record");
        External::octet_aligned(oid::USMARC, iso2709::encode(&records[0]).expect("fits"))
    };
    let of = |holdings: Vec<External>| {
        let holdings = holdings.into_iter().map(Box::new);
        of_opac(
            &OpacRecord {
                bibliographic_record: Some(marc("=852  0\\$bOf the title\n")),
                holdings_data: Some(holdings.map(HoldingsRecord::MarcHoldingsRecord).collect()),
            },
            None,
        )
    };
    check(
        &of(vec![
            marc("=852  0\\$bMain$hPR4034$i.E5\n=876  \\\\$p1$jOn loan\n"),
            sutrs_external("One copy\nin the annex").expect("encodes"),
        ]),
        "  Location  Call number  Available  Item  Status   Note\n  \
         Main      PR4034 .E5   no         1     On loan\n  \
         \x20                                                One copy in the annex\n",
    );
    // Records inside an inner OPAC record are not read.
    let inner = opac(vec![HoldingsAndCircData::default()]);
    check(
        &of(vec![inner.to_external().expect("encodes")]),
        "  Location\n  Of the title\n",
    );
    check(&of(Vec::new()), "  Location\n  Of the title\n");
    check(&of_opac(&OpacRecord::default(), None), "");
}

#[test]
fn holdings_of_marc_records() {
    check_marc("=245  10$aWar\n", "");
    check_marc(
        "=852  \\\\$aLibrary of Congress$bPrints and Photographs Division$ndcu\n",
        "  Library              Location\n  Library of Congress  Prints and Photographs Division\n",
    );
    check_marc(
        "=852  0\\$bMain$hAP2$t1$zAsk at the desk\n\
         =853  \\\\$81$av.$bno.$i(year)\n\
         =863  \\\\$81.1$a1$b2$i1911\n\
         =863  \\\\$81.2$a1$b3$i1911\n\
         =876  \\\\$81.1$p39001$jAvailable\n\
         =876  \\\\$81.2$p39002$jChecked out - due 2026-12-01$hBuilding use$t2$lBindery$zTorn\n\
         =876  \\\\$3v.2$a7$jAsk\n",
        "  Location  Now at   Call number  Volume           Copy  Available  Due         Item   Status                        Restrictions  Note\n  \
         Main               AP2          v.1:no.2 (1911)  1     yes                    39001  Available                                   Ask at the desk\n  \
         Main      Bindery  AP2          v.1:no.3 (1911)  2     no         2026-12-01  39002  Checked out - due 2026-12-01  Building use  Torn\n  \
         Main               AP2          v.2              1                            7      Ask                                         Ask at the desk\n",
    );
    check_marc(
        "=852  4\\$aMain$bROSEAU$cE pb$g35500003682026$nAvailable\n=852  \\\\$aMain Library$h394.268$p31256016306970$rOut\n=866  \\\\$av.1-2\n",
        "  Library       Location  Shelf  Call number  Volume  Available  Item            Status\n  \
         Main          ROSEAU    E pb                        yes                        Available\n  \
         Main Library                   394.268      v.1-2   no         31256016306970  Out\n",
    );
    let unimarc = "=LDR  00000nam  2200000   450 \n=001  1\n=200  1\\$aGuerre\n=852  \\\\$aMain\n";
    let records = mrk::parse_all(unimarc).expect("a record");
    check(&of_marc(&records[0]), "");
}

#[test]
fn an_object_has_all_keys() {
    let json = of_opac(&opac(vec![HoldingsAndCircData::default()]), None)[0].to_json();
    let elements = json.as_object().expect("an object");
    assert_eq!(elements.len(), 15);
    assert!(elements.values().all(Value::is_null), "{json}");
    let data = HoldingsAndCircData {
        call_number: Some("PR4034".into()),
        circulation_data: Some(vec![item("1", false)]),
        ..HoldingsAndCircData::default()
    };
    let json = of_opac(&opac(vec![data]), None)[0].to_json();
    assert_eq!(
        (&json["call_number"], &json["available"], &json["item_id"]),
        (&json!("PR4034"), &json!(false), &json!("1"))
    );
}

#[test]
fn a_note_repeated_for_each_item_is_bounded() {
    let each = MAX_OCTETS / 16 - size_of::<Holding>();
    let of = |length: usize| {
        let data = HoldingsAndCircData {
            public_note: Some("n".repeat(length).into()),
            circulation_data: Some(vec![CircRecord::default(); 20]),
            ..HoldingsAndCircData::default()
        };
        of_opac(&opac(vec![data]), None).len()
    };
    assert_eq!(of(each), 16);
    assert_eq!(of(each + 1), 15);
}

#[test]
fn a_long_cell_does_not_widen_its_column() {
    let holding = |location: &str| Holding {
        location: Some(location.to_owned()),
        copy: Some("1".to_owned()),
        ..Holding::default()
    };
    let (usual, long) = ("x".repeat(WIDEST), "x".repeat(WIDEST + 1));
    let wide = |cell: &str| format!("  {cell:<WIDEST$}");
    let heading = format!("{}  Copy\n", wide("Location"));
    check(
        &[holding(&long), holding("y")],
        &format!("{heading}{}  1\n{}  1\n", wide(&long), wide("y")),
    );
    check(
        &[holding(&usual)],
        &format!("{heading}{}  1\n", wide(&usual)),
    );
}
