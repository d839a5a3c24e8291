//! Serves files of MARC records as a database, on a free port, until the work is done.

use std::error::Error;
use std::sync::Arc;

use z3950::{Client, Query};
use z3950_server::marc::iso2709;
use z3950_server::memory::DatabaseFiles;
use z3950_server::testing::record;
use z3950_server::{Limits, MemoryBackend, Server, Target};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("cat.mrc");
    std::fs::write(&path, iso2709::encode(&record("id7", "Emma"))?)?;

    let mut files = DatabaseFiles::default();
    files.name = "cat".to_owned();
    files.paths = vec![path];
    let (backend, notes) = MemoryBackend::builder().load([files], &|_| ())?;
    for note in notes {
        eprintln!("{note:?}");
    }
    let target = Target::new(Arc::new(backend), Limits::default());
    let server = Server::new(target).and_bind("127.0.0.1:0").await?;
    let address = server.local_addrs()[0];

    let work = async {
        let cat = Client::new().connect(format!("{address}/cat")).await?;
        println!("{} found", cat.search(Query::title("emma")).await?.count());
        cat.close().await
    };
    // The server runs for one second, which is long enough for the work above.
    let (done, summary) = tokio::join!(
        work,
        server.run(tokio::time::sleep(std::time::Duration::from_secs(1)))
    );
    done?;
    println!("{} session(s) served", summary.sessions);
    Ok(())
}
