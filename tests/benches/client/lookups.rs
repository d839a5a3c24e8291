//! Performs the same lookups as `zoom/lookups.c`, but with this project's library, in the way that a user of the library
//! would write them. The benchmark starts itself again as this program, so that the measured process does nothing else.

use std::process::ExitCode;

use tokio::runtime::Builder;
use tokio::task::JoinSet;
use z3950::url::{Mode, Z3950Url};
use z3950::{Client, ClientOptions, Outcome};

/// The first argument of the benchmark that selects this program.
pub(crate) const NAME: &str = "lookups";

/// Runs with the arguments HOST DATABASE DOCID COUNT SESSIONS RECORDS; `%07d` in DOCID is replaced by the number of a
/// record. If HOST begins with `http:`, SRU is used.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    let [host, database, docid, count, sessions, records] = arguments else {
        return ExitCode::from(2);
    };
    let number = |text: &String| text.parse::<usize>().expect("a number");
    let (count, sessions, records) = (number(count), number(sessions), number(records));
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    if host.starts_with("http:") {
        let numbers = (0..count).map(|n| n % records);
        let target = format!("{host}/{database}");
        return exit(runtime.block_on(over_sru(target, docid, numbers)) == count);
    }
    let url = format!("z39.50r://{host}/{database}?{docid};rs=usmarc");
    let delivered = runtime.block_on(async {
        let mut options = ClientOptions::default();
        options.keep_open = true;
        let client = Client::with(options);
        let lines: JoinSet<usize> = (0..sessions)
            .map(|first| {
                let numbers = (first..count).step_by(sessions).map(move |n| n % records);
                line(client.clone(), url.clone(), numbers)
            })
            .collect();
        let delivered: usize = lines.join_all().await.into_iter().sum();
        client.close_all().await;
        delivered
    });
    exit(delivered == count)
}

fn exit(is_complete: bool) -> ExitCode {
    if is_complete {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs the lookups over one SRU connection.
async fn over_sru(target: String, docid: &str, numbers: impl Iterator<Item = usize>) -> usize {
    let client = Client::new();
    let connection = client.connect(&target).await.expect("a connection");
    let mut delivered = 0;
    for number in numbers {
        let docid = docid.replace("%07d", &format!("{:07}", number + 1));
        match connection.get(&docid).await {
            Ok(_) => delivered += 1,
            Err(error) => eprintln!("{error}"),
        }
    }
    delivered
}

/// Runs the lookups one after the other and returns the number of records received.
async fn line(client: Client, url: String, numbers: impl Iterator<Item = usize>) -> usize {
    let mut delivered = 0;
    for number in numbers {
        let url = url.replace("%07d", &format!("{:07}", number + 1));
        let url = Z3950Url::parse(&url, Mode::Strict).expect("a URL");
        match client.retrieve(&url).await.expect("a docid").outcome {
            Outcome::Delivered(_) => delivered += 1,
            outcome => eprintln!("{outcome}"),
        }
    }
    delivered
}
