//! The stream of a connection. It cuts incoming octets into APDUs, with limited look-ahead while an operation runs, writes
//! answers with time limits, and closes the connection without losing the last answer.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::poll_immediate;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::{sleep, timeout};
use z3950_asn1::codec::frame::{Header, Scanner, StreamError};
use z3950_asn1::error::FrameError;

use crate::budget::Charge;

/// A byte stream that a connection can run over, such as TCP or TLS.
pub(crate) trait Transport: AsyncRead + AsyncWrite + Unpin {
    /// Whether the protocol announces the end of the connection, as TLS does.
    const ANNOUNCES_END: bool = false;

    /// Whether the transport is TLS.
    #[cfg(feature = "sru")]
    const IS_ENCRYPTED: bool = false;

    /// Causes the connection to be reset when it is dropped, if the transport supports this.
    fn reset(&mut self) {}
}

impl Transport for tokio::net::TcpStream {
    fn reset(&mut self) {
        // If this fails, the connection is closed without a reset.
        let _ = self.set_zero_linger();
    }
}

#[cfg(unix)]
impl Transport for tokio::net::UnixStream {}

#[cfg(feature = "tls")]
impl Transport for tokio_rustls::server::TlsStream<tokio::net::TcpStream> {
    const ANNOUNCES_END: bool = true;
    #[cfg(feature = "sru")]
    const IS_ENCRYPTED: bool = true;

    fn reset(&mut self) {
        let _ = self.get_ref().0.set_zero_linger();
    }
}

#[cfg(any(test, feature = "sru"))]
impl Transport for tokio::io::DuplexStream {}

/// The number of octets per read.
const READ: usize = 8192;

/// Cuts incoming octets into APDUs. While the connection is idle, no buffer is allocated.
pub(super) struct Inlet {
    buffer: BytesMut,
    /// The scanner that finds the end of the first APDU in the buffer, and enforces the size limit for the next APDU.
    pub(super) scanner: Scanner,
    /// The number of octets in the buffer that [`Inlet::ahead`] has examined.
    looked: usize,
    /// The scanner that finds the end of the APDU after the examined octets, so that each APDU is examined only once.
    ahead: Scanner,
    /// Whether the client has closed its sending side after the octets in the buffer.
    pub(super) ended: bool,
    /// The charge for the buffer; zero while the buffer is so short that it is not charged.
    charge: Charge,
}

/// The next item from the client.
#[derive(Debug)]
pub(super) enum Arrival {
    /// An encoded APDU.
    Apdu(Bytes),
    /// The client has closed its sending side, which is allowed without a Close.
    End,
    /// Octets that are not an APDU, or an error from the stream.
    Fault(StreamError),
}

/// The context tags of the APDUs that interrupt operations.
const TRIGGER_RESOURCE_CONTROL: u32 = 32;
const CLOSE: u32 = 48;

impl Inlet {
    pub(super) fn new(max_apdu_size: usize, charge: Charge) -> Self {
        Self {
            buffer: BytesMut::new(),
            scanner: Scanner::new(max_apdu_size),
            looked: 0,
            ahead: Scanner::new(max_apdu_size),
            ended: false,
            charge,
        }
    }

    /// Returns the next APDU. With a number of octets to read ahead, returns only an APDU that interrupts operations in progress,
    /// and leaves other APDUs in the buffer. This method is cancel safe.
    pub(super) async fn heard(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        ahead: Option<usize>,
    ) -> Arrival {
        match ahead {
            None => self.next(stream).await,
            Some(most) => self.ahead(stream, most).await,
        }
    }

    async fn next(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> Arrival {
        loop {
            match self.take() {
                Ok(Some(apdu)) => return Arrival::Apdu(apdu),
                Ok(None) => {}
                Err(error) => return Arrival::Fault(error.into()),
            }
            if self.ended {
                return match self.buffer.len() {
                    0 => Arrival::End,
                    left => Arrival::Fault(StreamError::CutOff(left)),
                };
            }
            if let Err(error) = self.fill(stream).await {
                return Arrival::Fault(error.into());
            }
        }
    }

    /// Reads ahead while an operation runs, up to `most` octets, until an APDU interrupts it. Close and triggers are removed from
    /// the buffer; other APDUs stay there for [`Inlet::next`].
    async fn ahead(&mut self, stream: &mut (impl AsyncRead + Unpin), most: usize) -> Arrival {
        loop {
            while let Some((tag, length)) = self.look() {
                match tag {
                    CLOSE | TRIGGER_RESOURCE_CONTROL => {
                        return Arrival::Apdu(self.cut_out(length));
                    }
                    _ => self.looked += length,
                }
            }
            if self.buffer.len() >= most {
                return std::future::pending().await;
            }
            if self.ended {
                return Arrival::End;
            }
            if let Err(error) = self.fill(stream).await {
                return Arrival::Fault(error.into());
            }
        }
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Returns the received octets that have not been returned as an APDU.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer
    }

    /// Removes and returns the octets that [`Inlet::rest`] returns.
    pub(super) fn take_rest(&mut self) -> Bytes {
        std::mem::take(&mut self.buffer).freeze()
    }

    /// Removes and returns the first APDU in the buffer, if it is complete.
    fn take(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.scanner.scan(&self.buffer)? else {
            return Ok(None);
        };
        self.scanner.reset();
        if self.looked < length {
            self.ahead.reset();
        }
        self.looked = self.looked.saturating_sub(length);
        let apdu = if length == self.buffer.len() {
            std::mem::take(&mut self.buffer)
        } else {
            self.buffer.split_to(length)
        };
        if self.charge.octets() > 0 && self.buffer.is_empty() {
            // Reducing a charge is never refused, so there is no error.
            let _ = self.charge.set(0);
        }
        Ok(Some(apdu.freeze()))
    }

    /// Returns the tag and length of the next APDU to examine; `None` if it is incomplete or malformed.
    fn look(&mut self) -> Option<(u32, usize)> {
        let rest = self.buffer.get(self.looked..)?;
        self.ahead.max_apdu_size = self.scanner.max_apdu_size;
        let length = self.ahead.scan(rest).ok()??;
        self.ahead.reset();
        let header = Header::read(rest).ok()??;
        Some((header.tag, length))
    }

    /// Removes and returns the APDU of this length that was examined last.
    fn cut_out(&mut self, length: usize) -> Bytes {
        let mut apdu = self.buffer.split_off(self.looked);
        let rest = apdu.split_off(length);
        self.buffer.unsplit(rest);
        apdu.freeze()
    }

    /// Waits for octets. The octets are read into a buffer on the stack, so that no memory is allocated while waiting. A buffer
    /// beyond the session's memory limit is an error.
    async fn fill(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        let taken = poll_fn(|context| {
            let mut space = [MaybeUninit::uninit(); READ];
            let mut read = ReadBuf::uninit(&mut space);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
            self.buffer.extend_from_slice(read.filled());
            Poll::Ready(io::Result::Ok(read.filled().len()))
        });
        self.ended |= taken.await? == 0;
        if self.buffer.len() > READ {
            let charged = self.charge.cover(self.buffer.capacity());
            charged.map_err(|why| io::Error::new(io::ErrorKind::QuotaExceeded, why.to_string()))?;
        }
        Ok(())
    }
}

/// Writes octets; each part has to be accepted within `limit`.
pub(crate) async fn write(
    stream: &mut (impl AsyncWrite + Unpin),
    mut octets: &[u8],
    limit: Duration,
) -> io::Result<()> {
    while !octets.is_empty() {
        let written = within(limit, stream.write(octets)).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        octets = octets.get(written..).unwrap_or_default();
    }
    within(limit, stream.flush()).await
}

/// Returns the result of `work`, or an error after `limit`. The timer is boxed and created only if the work is not ready
/// immediately.
async fn within<T>(limit: Duration, work: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    let mut work = pin!(work);
    match poll_immediate(work.as_mut()).await {
        Some(done) => done,
        None => Box::pin(timeout(limit, work)).await?,
    }
}

/// Writes the octets one by one, with a pause after each.
pub(crate) async fn trickle(
    stream: &mut (impl AsyncWrite + Unpin),
    octets: &[u8],
    pause: Duration,
    limit: Duration,
) -> io::Result<()> {
    for (index, octet) in octets.iter().enumerate() {
        if index > 0 && !pause.is_zero() {
            sleep(pause).await;
        }
        write(stream, &[*octet], limit).await?;
    }
    Ok(())
}

/// The maximum number of reads after the last answer, of up to 4,096 octets each.
const MAX_LINGERING_READS: usize = 1024;

/// Closes the sending side and reads until the client closes its side. A connection that is dropped with unread octets is reset,
/// and the client could lose the last answer. Returns whether the client has closed its side.
pub(crate) async fn linger(
    stream: &mut impl Transport,
    limit: Duration,
    mut discard: impl FnMut(&[u8]),
) -> bool {
    let rest = async {
        stream.shutdown().await?;
        let mut discarded = vec![0; 4096];
        for _ in 0..MAX_LINGERING_READS {
            let read = stream.read(&mut discarded).await?;
            match discarded.get(..read) {
                None | Some([]) => return Ok(true),
                Some(octets) => discard(octets),
            }
        }
        io::Result::Ok(false)
    };
    match timeout(limit, rest).await {
        Ok(Ok(has_ended)) => has_ended,
        // The connection was reset, so the client will not send anything else.
        Ok(Err(_)) => true,
        // A client that does not close its side in time is disconnected.
        Err(_) => false,
    }
}
