//! Requests made again on another session after theirs was lost.

use crate::error::Error;
use crate::protocol::session::{Repeat, Session};

use super::Server;

/// How often a request is made again.
const MAX_REPEATS: usize = 4;

/// The sessions of a user, one after another.
pub(super) trait Replaceable {
    /// The server of the sessions.
    fn server(&self) -> &Server;

    /// Whether this error may come from a request of another user.
    fn is_by_others(&self, error: &Error) -> bool;

    /// The session in place of one that was lost with this error.
    fn replace(
        &mut self,
        lost: &Session,
        error: &Error,
    ) -> impl Future<Output = Result<Session, Error>> + Send;
}

/// Makes a request, and again after the session was lost if `repeat` allows it. Without `repeat`, a request that changes nothing is
/// repeated after any loss if the server has answered others, so that the request is not what it fails at.
pub(super) async fn repeated<T, F>(
    sessions: &mut impl Replaceable,
    mut session: Session,
    repeat: Option<Repeat>,
    request: impl Fn(Session) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut repeats = 0;
    loop {
        let error = match request(session.clone()).await {
            Ok(found) => {
                sessions.server().note_answer();
                return Ok(found);
            }
            Err(error) => error,
        };
        let allowed = repeat.unwrap_or(match repeats > 0 || sessions.server().has_answered() {
            true => Repeat::IfLost,
            false => Repeat::IfUnsent,
        });
        if repeats == MAX_REPEATS || !(sessions.is_by_others(&error) || allowed.allows(&error)) {
            return Err(error);
        }
        repeats += 1;
        tracing::info!(%error, "session lost, opening another");
        session = sessions.replace(&session, &error).await?;
    }
}
