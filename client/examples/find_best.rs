//! Looks up an ISBN at two targets, with fallbacks, chooses the best record, and prints what happens.

use z3950::{Client, Event, Fallback, Preferences, Wanted, error::Report};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Report> {
    let client = Client::from_user_config()?;
    let names: Vec<String> = std::env::args().skip(1).collect();
    let targets = [client.target(&names[0])?, client.target(&names[1])?];
    let isbn = names.get(2).map_or("isbn:9780199232765", String::as_str);
    let wanted = Wanted::identifier(isbn)?.fallback(Fallback::ALL);
    let wanted = wanted.best(Preferences::default()).all_targets();
    let mut events = client.find(targets, wanted);
    while let Some(event) = events.next().await {
        match event {
            Event::Again { target, step, .. } => println!("{}: {step}", names[target]),
            Event::Found(found) => println!("{}: {}", names[found.target], found.result.hits),
            Event::Best(best) => println!("{}", best.choice),
            Event::Ended(ending) => println!("{}", ending.outcome),
            _ => {}
        }
    }
    Ok(())
}
