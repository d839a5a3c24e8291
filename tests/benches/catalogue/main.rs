//! Compares `z3950d` in front of an index like Koha's and an index like VuFind's with the same JSON sent to the engine directly:
//! searches with their first ten records, and the records of a large set in batches. Prints the rows of `BENCHMARKS.md`.
//!
//! ```sh
//! cargo bench -p z3950-tests --bench catalogue                          # 100,000 artificial records
//! cargo bench -p z3950-tests --bench catalogue -- koha                  # only Koha's index
//! Z3950_RECORDS=10000 cargo bench -p z3950-tests --bench catalogue      # this number of records
//! Z3950_ROUNDS=9 cargo bench -p z3950-tests --bench catalogue           # this number of passes through the set, instead of five
//! ```

#[path = "../engine/direct.rs"]
mod direct;
mod filled;
mod presents;
#[path = "../engine/records.rs"]
mod records;
#[path = "../engine/relay.rs"]
mod relay;
mod searches;
mod wire;

use std::path::Path;

use z3950_front::engine::catalogue::{CatalogueDatabase, CatalogueMap, CatalogueOptions};
use z3950_front::engine::opensearch::ClusterAddress;
use z3950_tests::program::Daemon;

use self::filled::Filled;
use self::records::{QuerySample, made_up, number_of, samples};

// The runtime has a single thread, so that no time is spent on waking other threads.
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = made_up(folder.path(), number_of("Z3950_RECORDS", 100_000));
    let rounds = number_of("Z3950_ROUNDS", 5);
    let (_, samples) = samples(&file);
    let arguments = std::env::args().skip(1);
    let wanted: Vec<String> = arguments.filter(|word| !word.starts_with('-')).collect();
    type Fill = fn(&Path) -> Option<Filled>;
    let kinds: [(&str, Fill); 2] = [("koha", filled::koha), ("vufind", filled::vufind)];
    for (name, fill) in kinds {
        if (wanted.is_empty() || wanted.iter().any(|word| word == name))
            && let Some(index) = fill(&file)
        {
            measure(&index, folder.path(), &samples, rounds).await;
        }
    }
}

async fn measure(index: &Filled, folder: &Path, samples: &[QuerySample], rounds: usize) {
    let daemon = serve(folder, &index.settings(index.port));
    let address = ClusterAddress::of_catalogue(&index.url(index.port));
    let address = address.expect("an address");
    let map = CatalogueMap::shipped(index.kind.map).expect("a map");
    let map = CatalogueMap::parse(map).expect("a valid map");
    let options = CatalogueOptions::new("books", vec![address]);
    let database = CatalogueDatabase::new(options, map.into()).expect("a database");
    database.check().await.expect("the index fits");
    let path = searches::measure(index, folder, &daemon, &database, samples).await;
    presents::measure(index, &daemon, &database, &path, samples, rounds).await;
}

/// Starts `z3950d` with these settings.
fn serve(folder: &Path, settings: &str) -> Daemon {
    let file = folder.join("z3950d.toml");
    std::fs::write(&file, settings).expect("written");
    Daemon::start(["--config", file.to_str().expect("text")])
}

/// Returns the address of the server's database.
fn books(daemon: &Daemon) -> String {
    format!("{}/books", daemon.address())
}
