//! Performs the lookups of `tests/benches/python/measure.py` with the Rust library: `lookups TARGET COUNT`.

use std::error::Error;

use z3950::Client;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, count] = arguments.as_slice() else {
        return Err("TARGET and COUNT are wanted".into());
    };
    let count: usize = count.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let connection = Client::from_user_config()?.connect(target).await?;
        for number in 0..count {
            let identifier = format!("local:rec{:07}", number % 1_000 + 1);
            let found = connection.lookup(&identifier).await?.ok_or("no match")?;
            let record = found.records.into_iter().next().ok_or("no record")??;
            assert!(!record.octets().is_empty());
        }
        connection.close().await?;
        Ok(())
    })
}
