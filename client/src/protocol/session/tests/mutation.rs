//! Opens thousands of sessions with servers whose answers are damaged. A session must not panic, hang, or stay open
//! after requests and answers no longer match. The damage is the same in every run. `Z3950_MUTATIONS` multiplies the
//! number of conversations.

use std::thread;
use std::time::Duration;

use z3950_asn1::apdu::*;
use z3950_asn1::oid;

use super::*;
use crate::error::Cause;
use crate::testing::*;

/// The number of damaged conversations for each unit of `Z3950_MUTATIONS`.
const CONVERSATIONS: usize = 20_000;
/// The seeds of the random numbers, one for each thread.
const SEEDS: [u64; 2] = [0x7a33_3935_3075_726c, 0x7a33_3935_3072_6c75];

/// The random number generator xorshift64*.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 8
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next()).expect("64 bits") % bound.max(1)
    }

    fn octet(&mut self) -> u8 {
        // These lengths, end markers and signs are more likely to reveal errors than random octets.
        const SPECIAL: [u8; 12] = [
            0, 1, 0x7f, 0x80, 0x81, 0x84, 0xff, 0xb7, 0xb9, 0xbf, 0x30, 0xa1,
        ];
        match self.below(2) {
            0 => SPECIAL[self.below(SPECIAL.len())],
            _ => u8::try_from(self.below(256)).expect("an octet"),
        }
    }

    fn damage(&mut self, octets: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(octets.len());
            match self.below(7) {
                0 if !octets.is_empty() => octets[at] ^= 1 << self.below(8),
                1 if !octets.is_empty() => octets[at] = self.octet(),
                2 => octets.insert(at, self.octet()),
                3 if !octets.is_empty() => drop(octets.remove(at)),
                4 => octets.truncate(at),
                5 => {
                    let copy = octets.get(at..).unwrap_or_default().to_vec();
                    octets.extend(copy);
                }
                _ => octets.extend((0..self.below(8)).map(|_| 0)),
            }
        }
    }
}

/// Tests the conversations in several threads, because one thread would take longer than all other tests of this crate.
#[test]
fn damaged_answers_end_in_an_answer_or_an_error() {
    let times = std::env::var("Z3950_MUTATIONS")
        .ok()
        .and_then(|times| times.parse().ok())
        .unwrap_or(1);
    let conversations = CONVERSATIONS * times / SEEDS.len();
    let survived: usize = thread::scope(|scope| {
        let threads = SEEDS.map(|seed| scope.spawn(move || survivors(seed, conversations)));
        let survived = threads.map(|thread| thread.join().expect("no panic"));
        survived.into_iter().sum()
    });
    // If all sessions or almost none survive, the damage is too small or too great to test anything.
    let all = conversations * SEEDS.len();
    assert!(
        survived > all / 100 && survived < all,
        "{survived} of {all}"
    );
}

/// Returns the number of conversations in which the session survives.
#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn survivors(seed: u64, conversations: usize) -> usize {
    let mut random = Random(seed);
    let mut survived = 0;
    for _ in 0..conversations {
        let script = damaged_script(&mut random);
        let conversation = tokio::time::timeout(Duration::from_secs(600), converse(script));
        survived += usize::from(conversation.await.expect("an end within the time limits"));
    }
    survived
}

fn damaged_script(random: &mut Random) -> Script {
    let both = Some(Records::ResponseRecords(vec![marc(), record(oid::SUTRS)]));
    let init = init_response(true, ProtocolVersion::UP_TO_3);
    let granted = Options::SEGMENTATION_2 | Options::SCAN | Options::CONCURRENT_OPERATIONS;
    let options = init.options | granted;
    let answers: [Apdu; 7] = [
        InitializeResponse { options, ..init }.into(),
        // The client responds to this request, and its response triggers the next turn of the script.
        resource_control(true),
        found(2, vec![surrogate(238)]).into(),
        match random.below(2) {
            0 => presented(PresentStatus::SUCCESS, both).into(),
            _ => presented(PresentStatus::FAILURE, diagnostic(13, "9")).into(),
        },
        segmented().into(),
        ScanResponse {
            reference_id: None,
            step_size: None,
            scan_status: ScanStatus::SUCCESS,
            number_of_entries_returned: 0,
            position_of_term: Some(1),
            entries: Some(ListEntries::default()),
            attribute_set: None,
            other_info: None,
        }
        .into(),
        Close::new(CloseReason::FINISHED, Some("bye")).into(),
    ];
    let victim = random.below(answers.len());
    let turns = answers.iter().enumerate().map(|(index, answer)| {
        let mut octets = encode(answer);
        if matches!(answer, Apdu::Segment(_)) {
            octets.extend(encode(&last_fragment().into()));
        }
        if index == victim {
            random.damage(&mut octets);
        }
        Turn::Octets(octets)
    });
    Script::from(turns.collect::<Vec<_>>())
}

/// Builds a segment with the beginning of a record, which [`last_fragment`] completes.
fn segmented() -> Segment {
    let record = Record::StartingFragment(FragmentSyntax::NotExternallyTagged("a rec".into()));
    Segment {
        reference_id: None,
        number_of_records_returned: 1,
        segment_records: vec![NamePlusRecord { name: None, record }],
        other_info: None,
    }
}

fn last_fragment() -> PresentResponse {
    let record = Record::FinalFragment(FragmentSyntax::NotExternallyTagged("ord".into()));
    let records = Records::ResponseRecords(vec![NamePlusRecord { name: None, record }]);
    presented(PresentStatus::SUCCESS, Some(records))
}

/// Runs a conversation, and returns whether the session stayed open until its end. Checks that a failed session is
/// closed.
async fn converse(script: Script) -> bool {
    let stream = serve_quietly(script);
    let Ok(session) = Session::over(stream, &SessionOptions::default()).await else {
        return false;
    };
    let search = session.search(query(), &SearchOptions::default()).await;
    let present = session.present(1, 2, &PresentOptions::default()).await;
    let again = session.present(1, 1, &PresentOptions::default()).await;
    let start = AttributesPlusTerm {
        attributes: vec![],
        term: Term::General("x".into()),
    };
    let scan = session.scan(start, &ScanOptions::default()).await;
    for error in [search.err(), present.err(), again.err(), scan.err()]
        .into_iter()
        .flatten()
    {
        let goes_on = matches!(
            error,
            Error::Refused { .. }
                | Error::AccessRefused { .. }
                // The timeout of one of several operations does not end the session.
                | Error::Unavailable {
                    cause: Cause::Timeout(_),
                    ..
                }
                | Error::ProtocolError {
                    fault: ProtocolFault::NotGranted(_),
                    ..
                }
        );
        assert!(goes_on || !session.is_open(), "{error}");
    }
    session.close().await.is_ok()
}

fn query() -> Query {
    let operand = Operand::ResultSet("default".into());
    Query::Type1(RpnQuery {
        attribute_set: oid::BIB_1,
        rpn: RpnStructure::Op(operand),
    })
}

/// Starts a scripted server whose conversation is not recorded.
fn serve_quietly(script: Script) -> tokio::io::DuplexStream {
    serve(script, &Transcript::default())
}
