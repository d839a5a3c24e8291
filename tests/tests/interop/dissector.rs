//! Tests that tshark's Z39.50 dissector understands a conversation between yaz-client and our server. text2pcap converts the
//! transcript to packets.

use std::fmt::Write;

use z3950_server::testing::{Direction, TestServer, TranscriptEntry};
use z3950_tests::peer;
use z3950_tests::program::{Ran, run};
use z3950_tests::surroundings::command;

/// The minimum length in octets of an APDU that the dissector understands. If an APDU is shorter, the dissector waits for more
/// octets, and then misses the APDUs that follow.
const SHORTEST: usize = 7;

/// Returns the octets and direction of each APDU in the input format of text2pcap.
fn packets(entries: &[TranscriptEntry]) -> String {
    let mut text = String::new();
    for entry in entries {
        text.push_str(match entry.direction {
            Direction::Received => "I\n",
            Direction::Sent => "O\n",
        });
        for (line, octets) in entry.octets.chunks(16).enumerate() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{:06x}", 16 * line);
            for octet in octets {
                let _ = write!(text, " {octet:02x}");
            }
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

#[test]
fn tshark_reads_a_conversation() {
    let programs = ["yaz-client", "text2pcap", "tshark"].map(peer::find);
    let [Some(client), Some(text2pcap), Some(tshark)] = programs else {
        return;
    };
    let server = TestServer::demo();
    let input = format!(
        "refid conversation\nopen {}\nbase books\nfind @attr 1=4 war\nshow 1+2\nformat sutrs\nshow 1\nformat xml\n\
         show 1\nformat opac\nshow 1\nformat grs-1\nshow 1\nscan @attr 1=4 war\nsort 1=4 <\n\
         find @and @attr 1=4 war @attr 1=4 peace\nfind @attr 1=9999 x\nshow 99\ndelete 1\nclose\nquit\n",
        server.addr()
    );
    run(&mut command(client), &input);
    let entries = server.wait_for_end();
    assert!(entries.len() > 20, "{:?}", server.names());
    assert!(
        entries.iter().all(|entry| entry.octets.len() >= SHORTEST),
        "{entries:#?}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let (text, packets_file) = (folder.path().join("said"), folder.path().join("said.pcap"));
    std::fs::write(&text, packets(&entries)).expect("written");
    let written = run(
        command(text2pcap)
            .args(["-q", "-D", "-T", "4000,210"])
            .args([&text, &packets_file]),
        "",
    );
    assert_eq!(written.code, Some(0), "{written:?}");
    let read = |filter: &str| -> Ran {
        let mut command = command(&tshark);
        command.arg("-r").arg(&packets_file);
        run(
            command.args(["-d", "tcp.port==210,z3950", "-Y", filter]),
            "",
        )
    };
    let malformed = read("_ws.malformed");
    assert!(
        malformed.code == Some(0) && malformed.stdout.is_empty(),
        "{malformed:?}"
    );
    let all = read("z3950");
    for (line, name) in all.stdout.lines().zip(server.names()) {
        assert!(line.ends_with(name), "{line} is {name}");
    }
    assert_eq!(all.stdout.lines().count(), entries.len(), "{}", all.stdout);
}
