//! What comes in: octets cut into APDUs, and a bounded look ahead while an operation runs. A connection that waits holds no
//! buffer.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, ReadBuf};
use z3950_asn1::codec::frame::{Header, Scanner, StreamError};
use z3950_asn1::error::FrameError;

/// Octets taken from the stream at a time.
const READ: usize = 8192;

/// Octets that have come and are not yet taken as APDUs.
pub(super) struct Inlet {
    buffer: BytesMut,
    /// Finds the end of the first APDU.
    scanner: Scanner,
    /// Octets of the buffer that [`Inlet::ahead`] has looked at.
    looked: usize,
    /// Whether the client has ended its side.
    ended: bool,
}

/// What a look ahead shows that the operation in progress has to know of.
#[derive(Debug)]
pub(super) enum Ahead {
    /// The client wants something of the operation: a TriggerResourceControl.
    Trigger(Bytes),
    /// The client has sent Close.
    Close,
    /// The client has ended its side.
    End,
    /// The connection is gone.
    Lost(io::Error),
}

/// Context tags of the APDUs a look ahead is for.
const TRIGGER_RESOURCE_CONTROL: u32 = 32;
const CLOSE: u32 = 48;

impl Inlet {
    pub(super) fn new(max_apdu_size: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            scanner: Scanner::new(max_apdu_size),
            looked: 0,
            ended: false,
        }
    }

    /// Changes the limit, from the next APDU on.
    pub(super) fn set_max_apdu_size(&mut self, max_apdu_size: usize) {
        self.scanner.max_apdu_size = max_apdu_size;
    }

    /// Whether the client has ended its side, behind everything that was read.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// The next APDU; `None` if the client has ended its side behind the last one. Nothing is lost when the future is dropped.
    pub(super) async fn next(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
    ) -> Option<Result<Bytes, StreamError>> {
        loop {
            match self.take() {
                Ok(Some(apdu)) => return Some(Ok(apdu)),
                Ok(None) => {}
                Err(error) => return Some(Err(error.into())),
            }
            if self.ended {
                let left = std::mem::take(&mut self.buffer).len();
                return (left > 0).then_some(Err(StreamError::CutOff(left)));
            }
            if let Err(error) = self.fill(stream).await {
                return Some(Err(error.into()));
            }
        }
    }

    /// Reads on while an operation runs, up to `most` octets, until there is something that it has to know of. Triggers are
    /// taken out; everything else stays, and comes with [`Inlet::next`] in its turn. Nothing is lost when the future is dropped.
    pub(super) async fn ahead(
        &mut self,
        stream: &mut (impl AsyncRead + Unpin),
        most: usize,
    ) -> Ahead {
        loop {
            while let Some((tag, length)) = self.look() {
                match tag {
                    CLOSE => return Ahead::Close,
                    TRIGGER_RESOURCE_CONTROL => return Ahead::Trigger(self.cut_out(length)),
                    _ => self.looked += length,
                }
            }
            if self.buffer.len() >= most {
                return std::future::pending().await;
            }
            if self.ended {
                return Ahead::End;
            }
            if let Err(error) = self.fill(stream).await {
                return Ahead::Lost(error);
            }
        }
    }

    /// Octets that the buffer has room for.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.capacity()
    }

    /// Cuts the first APDU off the buffer, if it is all there.
    fn take(&mut self) -> Result<Option<Bytes>, FrameError> {
        let Some(length) = self.scanner.scan(&self.buffer)? else {
            return Ok(None);
        };
        self.scanner.reset();
        self.looked = self.looked.saturating_sub(length);
        let apdu = match length == self.buffer.len() {
            true => std::mem::take(&mut self.buffer),
            false => self.buffer.split_to(length),
        };
        Ok(Some(apdu.freeze()))
    }

    /// The tag and length of the next APDU that was not looked at, if it is all there and sound.
    fn look(&self) -> Option<(u32, usize)> {
        let rest = self.buffer.get(self.looked..)?;
        let length = Scanner::new(self.scanner.max_apdu_size).scan(rest).ok()??;
        let header = Header::read(rest).ok()??;
        Some((header.tag, length))
    }

    /// Takes the APDU of this length out that was looked at last.
    fn cut_out(&mut self, length: usize) -> Bytes {
        let mut apdu = self.buffer.split_off(self.looked);
        let rest = apdu.split_off(length);
        self.buffer.unsplit(rest);
        apdu.freeze()
    }

    /// Waits for octets, which are first taken into a space that nobody holds meanwhile.
    async fn fill(&mut self, stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
        let taken = poll_fn(|context| {
            let mut space = [MaybeUninit::uninit(); READ];
            let mut read = ReadBuf::uninit(&mut space);
            ready!(Pin::new(&mut *stream).poll_read(context, &mut read))?;
            self.buffer.extend_from_slice(read.filled());
            Poll::Ready(io::Result::Ok(read.filled().len()))
        });
        self.ended |= taken.await? == 0;
        Ok(())
    }
}
