//! Fuzzes files of records. The first octet selects the format. Each record that can be read is written in all formats, its
//! holdings are read, and its ISO 2709 form is read back.
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use z3950_asn1::record::holdings;
use z3950_marc::stream::{InputForm, MAX_NOTES, RecordReader};
use z3950_marc::Form;
use z3950_marc::iso2709;

const FORMS: [InputForm; 5] = [
    InputForm::Marc,
    InputForm::MarcXml,
    InputForm::Json,
    InputForm::Mrk,
    InputForm::Line,
];

fuzz_target!(|octets: &[u8]| {
    let Some((first, octets)) = octets.split_first() else { return };
    let form = FORMS[usize::from(*first) % FORMS.len()];
    for found in RecordReader::new(octets, form) {
        // Reading a compressed file fails, so there are no records.
        let Ok(found) = found else { break };
        assert!(found.notes.len() <= MAX_NOTES + 1);
        let Ok(record) = found.record else { continue };
        let _ = holdings::table(&holdings::of_marc(&record));
        for form in Form::ALL {
            // A format may be unable to represent a record.
            let _ = form.write(&record, &mut Vec::new());
        }
        if let Ok(written) = iso2709::encode(&record) {
            let again = iso2709::parse(&Bytes::from(written)).expect("written by us");
            assert_eq!(again.record.fields, record.fields);
        }
    }
});
