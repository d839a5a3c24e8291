//! Tests for files and folders of records, complete and interrupted.

use super::*;
use crate::render::Format;

fn ask(position: u64, target: usize) -> Ask {
    Ask {
        position,
        target,
        input: [].into(),
        is_cut: false,
        origin: None,
        record: None,
        repeats: None,
    }
}

fn growing(path: &Path, format: Format) -> FileSink<Growing> {
    let file = Growing::resume(path).expect("opens");
    FileSink::new(file, format)
}

#[test]
fn a_file_is_a_whole_document_whenever_a_run_ends() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.xml");
    let format = Format::Marcxml;
    let style = Style::from(format);
    let (begin, end) = (style.before(true), style.end());
    let mut complete = 0;
    // Each run completes its first record and is interrupted in its second record.
    for (first, second, expected) in [("<a/>", "<b/>", "<a/>"), ("<c/>", "<d/>", "<a/><c/>")] {
        let mut sink = growing(&path, format);
        sink.go_on(complete).expect("cut");
        sink.record(first.as_bytes()).expect("written");
        complete = sink.complete().expect("written");
        sink.record(&second.repeat(BUFFER).into_bytes())
            .expect("written");
        assert!(sink.finish(Remains::Answers).expect("written"));
        drop(sink);
        let found = fs::read_to_string(&path).expect("read");
        assert_eq!(found, format!("{begin}{expected}{end}"));
        assert_eq!(length(found.as_bytes()), complete + length(end.as_bytes()));
    }
    let mut sink = growing(&path, format);
    sink.go_on(0).expect("cut");
    assert!(!sink.finish(Remains::Answers).expect("written"));
    drop(sink);
    assert_eq!(
        fs::read_to_string(&path).expect("read"),
        format!("{begin}{end}")
    );
}

#[test]
fn audit_a1_a_file_without_records_is_not_touched() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("all.xml");
    for before in [None, Some("of yesterday")] {
        if let Some(text) = before {
            fs::write(&path, text).expect("written");
        }
        let file = Growing::create(&path, Existing::Replace).expect("opens");
        let mut sink = FileSink::new(file, Format::Marcxml);
        assert_eq!(sink.complete().expect("nothing"), 0);
        assert!(!sink.finish(Remains::Answers).expect("nothing"));
        drop(sink);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), before);
    }
}

#[test]
fn records_of_an_interrupted_answer_remain_if_requested() {
    /// A disk with a limited capacity.
    struct Disk(Vec<u8>, usize);
    impl Write for Disk {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            let room = self.1.saturating_sub(self.0.len()).min(octets.len());
            if room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            self.0.extend_from_slice(&octets[..room]);
            Ok(room)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    impl Cut for Disk {
        fn cut(&mut self, length: u64) -> io::Result<()> {
            self.0.truncate(usize::try_from(length).expect("small"));
            Ok(())
        }
    }
    let record = "r".repeat(1000);
    for (room, expected) in [(1_000_000, 200), (150_500, 150), (70_000, 70), (999, 0)] {
        for (remains, expected) in [(Remains::Records, expected), (Remains::Answers, 0)] {
            let mut sink = FileSink::new(Disk(Vec::new(), room), Format::Marc);
            for _ in 0..200 {
                if sink.record(record.as_bytes()).is_err() {
                    break;
                }
            }
            let is_there = sink.finish(remains).expect("cut");
            assert_eq!(is_there, expected > 0);
            assert_eq!(sink.file.0.len(), expected * 1000, "{room}");
        }
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn sink(folder: &Path, existing: Existing) -> Result<FolderSink, z3950_files::Error> {
    FolderSink::new(folder, "xml", Format::Marcxml, 2, existing)
}

#[test]
fn a_folder_has_a_file_for_each_ask_with_records() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("records");
    let mut first = sink(&folder, Existing::Refuse).expect("made");
    let input = "isbn:0-306/..\u{e9}";
    first.record(b"<a/>").expect("written");
    let octets = first.complete(&ask(7, 0), input).expect("written");
    assert_eq!(first.complete(&ask(7, 1), "none").expect("written"), 0);
    first.record(b"<b/>").expect("written");
    let long = "x".repeat(500);
    first.complete(&ask(8, 1), &long).expect("written");
    first.record(b"<c/>").expect("written");
    assert_eq!(first.finish(Remains::Answers).expect("ended"), None);
    let error = sink(&folder, Existing::Replace).expect_err("locked");
    assert!(matches!(error, z3950_files::Error::Busy { .. }), "{error}");
    drop(first);
    let long = format!("000008.2-{}.xml", "x".repeat(MAX_SLUG - 1));
    assert_eq!(names(&folder), ["000007.1-isbn-0-306.xml", &long]);
    let whole = fs::read(folder.join("000007.1-isbn-0-306.xml")).expect("read");
    assert_eq!(length(&whole), octets);
    let error = sink(&folder, Existing::Refuse).expect_err("records are there");
    assert!(
        matches!(error, z3950_files::Error::Exists { .. }),
        "{error}"
    );
    let mut again = sink(&folder, Existing::Replace).expect("made");
    assert!(again.has(&ask(7, 0), input, octets));
    assert!(!again.has(&ask(7, 0), input, octets + 1));
    assert!(!again.has(&ask(9, 0), input, octets));
    // A new run that finds nothing for the `Ask` removes the file.
    again.complete(&ask(7, 0), input).expect("written");
    again.record(b"<d/>").expect("written");
    let unfinished = again.finish(Remains::Records).expect("kept");
    assert_eq!(unfinished, Some((folder.join("unfinished.xml"), 1)));
    drop(again);
    assert_eq!(names(&folder), [&long, "unfinished.xml"]);
}

#[cfg(unix)]
#[test]
fn audit_a4_no_draft_is_followed() {
    let folder = tempfile::tempdir().expect("a folder");
    let precious = folder.path().join("precious");
    let records = folder.path().join("records");
    fs::create_dir(&records).expect("made");
    fs::write(&precious, "precious").expect("written");
    for draft in [".z3950-part", ".z3950.draft"] {
        std::os::unix::fs::symlink(&precious, records.join(draft)).expect("linked");
    }
    let mut sink = sink(&records, Existing::Refuse).expect("made");
    sink.record(b"<a/>").expect("written");
    sink.complete(&ask(1, 0), "a").expect("written");
    sink.finish(Remains::Answers).expect("ended");
    assert_eq!(fs::read_to_string(&precious).expect("read"), "precious");
    assert!(records.join("000001.1-a.xml").is_file());
}
