//! The port of this machine that a browser comes back to with the answer of a login.

use std::io;
use std::net::Ipv4Addr;

use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use troupe_protocol::discard;

use super::bounded;
use crate::limits::{CALLBACK_BYTES_MAX, CALLBACK_READ_TIME};

/// Waits for one browser. Closes with the login.
#[derive(Debug)]
pub(super) struct CallbackListener {
    listener: TcpListener,
    port: u16,
}

/// What came back, and who is still told how it went.
#[derive(Debug)]
pub(super) struct CallbackAnswer {
    /// The address that the browser was sent to, or why the person is not let in.
    address: Result<String, String>,
    browser: Option<WaitingBrowser>,
}

/// A browser that waits for a page.
#[derive(Debug)]
pub(super) struct WaitingBrowser(TcpStream);

impl CallbackAnswer {
    pub(super) fn into_parts(self) -> (Result<String, String>, Option<WaitingBrowser>) {
        (self.address, self.browser)
    }
}

impl CallbackListener {
    /// Takes a port; 0 is any that is free. Nobody outside this machine reaches it.
    pub(super) async fn bind(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn redirect_address(&self) -> String {
        format!("http://127.0.0.1:{}/callback", self.port)
    }

    /// Returns the first answer that carries the state of this login. Whatever else knocks at the
    /// port is sent away, and ends nothing.
    pub(super) async fn next(&self, state: Option<&str>) -> io::Result<CallbackAnswer> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            let Ok(Some(target)) = timeout(CALLBACK_READ_TIME, target(&mut stream)).await else {
                continue;
            };
            let browser = WaitingBrowser(stream);
            let address = format!("http://127.0.0.1:{}{target}", self.port);
            if !target.starts_with("/callback?") || state_of(&address).as_deref() != state {
                browser
                    .send("404 Not Found", "Nobody is logging in here.")
                    .await;
                continue;
            }
            return Ok(CallbackAnswer {
                address: answer(&address),
                browser: Some(browser),
            });
        }
    }
}

impl WaitingBrowser {
    pub(super) async fn tell(self, text: &str) {
        self.send("200 OK", text).await;
    }

    async fn send(mut self, status: &str, text: &str) {
        let length = text.len();
        let page = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{text}"
        );
        discard!(
            self.0.write_all(page.as_bytes()).await,
            "the browser did not wait for its page"
        );
    }
}

/// Returns the answer of an address that a person pasted.
pub(super) fn pasted(address: &str) -> CallbackAnswer {
    CallbackAnswer {
        address: answer(address.trim()),
        browser: None,
    }
}

/// Returns the `state` of an address.
pub(super) fn state_of(address: &str) -> Option<String> {
    parameter(&Url::parse(address).ok()?, "state")
}

/// Returns the address of an answer that lets the person in, or why there is none.
fn answer(address: &str) -> Result<String, String> {
    let url = Url::parse(address).map_err(|_| "that is no address".to_owned())?;
    match parameter(&url, "error") {
        None => Ok(address.to_owned()),
        Some(error) => Err(bounded(&match parameter(&url, "error_description") {
            Some(description) => format!("{error}: {description}"),
            None => error,
        })),
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    pairs
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

/// Reads the head of a request and returns what it asks for.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        if head.len() >= CALLBACK_BYTES_MAX || stream.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    (words.next()? == "GET").then_some(())?;
    words.next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{answer, state_of};

    #[test]
    fn an_answer_is_an_address_or_why_there_is_none() {
        let yes = "http://127.0.0.1:1/callback?code=c&state=s%2B";
        assert_eq!(answer(yes), Ok(yes.to_owned()));
        assert_eq!(state_of(yes).as_deref(), Some("s+"));
        let no = "http://127.0.0.1:1/callback?error=access_denied&error_description=not%20you";
        assert_eq!(answer(no), Err("access_denied: not you".to_owned()));
        assert_eq!(answer("yes"), Err("that is no address".to_owned()));
    }
}
