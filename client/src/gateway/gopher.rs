//! Fetches Gopher items through a gateway, which returns the Gopher server's reply unchanged.

use hyper::StatusCode;

use super::answer::failure;
use super::{GatewayClient, parameter};
use crate::error::GatewayError;
use crate::gopher::{self, GopherError, GopherOptions, Reply};
use crate::retrieve::Outcome;
use crate::transport::Timeouts;
use crate::transport::http::HttpRequest;
use crate::url::GopherUrl;

/// The accepted media types: one for the unchanged reply, and one for a description of the problem (RFC 9457).
const OCTETS: &str = "application/octet-stream, application/problem+json;q=0.1";

impl GatewayClient {
    /// Fetches the item named by a Gopher URL through the gateway.
    ///
    /// # Errors
    /// [`GopherError`], as if the reply had come from the Gopher server. The gateway's own errors are returned as
    /// [`GopherError::Connect`].
    pub(crate) async fn fetch(
        &self,
        url: &GopherUrl,
        options: &GopherOptions,
        timeouts: &Timeouts,
    ) -> Result<Reply, GopherError> {
        let mut options = *options;
        options.allow_reserved_port = true;
        // The gateway could not fetch the URLs that `plan` refuses, so they are refused before the request.
        gopher::plan(url, &options)?;
        let request = HttpRequest {
            path: format!(
                "{}get?url={}&format=raw",
                self.gateway.path,
                parameter(&url.canonical())
            ),
            accepted: OCTETS,
            body: None,
            is_repeatable: true,
        };
        let answer = self
            .ask(&request, timeouts)
            .await
            .map_err(GopherError::Connect)?;
        if answer.status != StatusCode::OK {
            return Err(GopherError::Connect(match failure(&answer) {
                Outcome::Failed(error) => error,
                outcome => GatewayError::Refused(outcome.to_string()).into(),
            }));
        }
        if answer.media_type != "application/octet-stream" {
            let words = format!(
                "an answer of type {}, which is not a Gopher item",
                answer.media_type
            );
            return Err(GopherError::Connect(GatewayError::NoGateway(words).into()));
        }
        if answer.body.len() > options.max_octets {
            return Err(GopherError::TooLarge(options.max_octets));
        }
        gopher::read(url, &options, answer.body)
    }
}
