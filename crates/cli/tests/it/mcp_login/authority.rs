//! An MCP server that wants a login, and the authorization server that gives it: one program that
//! listens to a port, as both are on many sites.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use troupe_tools::digest;

/// What it gives and takes. Every token has this in it, so that it can be searched for.
pub const SECRET: &str = "tok-9d3f";

pub struct Authority {
    pub base: String,
    state: Arc<Mutex<AuthorityState>>,
}

#[derive(Debug, Default)]
struct AuthorityState {
    /// Redirect addresses of the clients that registered.
    clients: BTreeMap<String, String>,
    /// Challenges of the codes that were given.
    codes: BTreeMap<String, String>,
    /// The one token that lets in, and the one that renews it; both change with each renewal.
    generation: u32,
    /// How long a token says that it lasts.
    lifetime_s: u32,
    renewals: u32,
    is_closed: bool,
    /// Paths that were asked for, with the method.
    log: Vec<String>,
}

struct HttpRequest {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: String,
}

struct HttpAnswer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl HttpAnswer {
    fn json(body: &Value) -> Self {
        Self {
            status: "200 OK",
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: body.to_string(),
        }
    }

    fn plain(status: &'static str) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }
}

impl Authority {
    /// Its tokens say that they last so long.
    pub fn with_tokens_for(lifetime_s: u32) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(AuthorityState {
            lifetime_s,
            ..AuthorityState::default()
        }));
        let (served, address) = (Arc::clone(&state), base.clone());
        // It ends with the process of the tests.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, base) = (Arc::clone(&served), address.clone());
                thread::spawn(move || {
                    let mut stream = stream;
                    while let Some(request) = read(&stream) {
                        let answer = answer(&mut state.lock().unwrap(), &base, &request);
                        if write(&mut stream, &answer).is_none() {
                            return;
                        }
                    }
                });
            }
        });
        Self { base, state }
    }

    pub fn url(&self) -> String {
        format!("{}/mcp", self.base)
    }

    /// Takes back everything that was given.
    pub fn revoke(&self) {
        let mut state = self.state.lock().unwrap();
        state.generation += 100;
        state.is_closed = true;
    }

    pub fn renewals(&self) -> u32 {
        self.state.lock().unwrap().renewals
    }

    pub fn log(&self) -> Vec<String> {
        self.state.lock().unwrap().log.clone()
    }
}

/// What a browser does: it opens an address and goes where it is sent. Returns the last page.
pub fn browse(address: &str) -> String {
    let (status, location, page) = get(address);
    match location {
        Some(next) if status == 302 => browse(&next),
        _ => page,
    }
}

/// Returns where a browser is sent from an address.
pub fn sent_to(address: &str) -> String {
    get(address).1.expect("a redirect")
}

pub fn get(address: &str) -> (u16, Option<String>, String) {
    let rest = address.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let (status, headers, body) = head_and_body(&stream).expect("an answer");
    let status = status.split(' ').nth(1).unwrap().parse().unwrap();
    (status, headers.get("location").cloned(), body)
}

fn read(stream: &TcpStream) -> Option<HttpRequest> {
    let (line, headers, body) = head_and_body(stream)?;
    let mut words = line.split(' ');
    let method = words.next()?.to_owned();
    let target = words.next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    Some(HttpRequest {
        method,
        path: path.to_owned(),
        query: form(query),
        headers,
        body,
    })
}

fn head_and_body(stream: &TcpStream) -> Option<(String, BTreeMap<String, String>, String)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut headers = BTreeMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.to_owned());
    }
    let length = headers.get("content-length");
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some((
        line.trim_end().to_owned(),
        headers,
        String::from_utf8(body).unwrap(),
    ))
}

fn write(stream: &mut TcpStream, answer: &HttpAnswer) -> Option<()> {
    let headers = answer.headers.iter();
    let headers = headers.fold(String::new(), |all, (name, value)| {
        all + name + ": " + value + "\r\n"
    });
    let text = format!(
        "HTTP/1.1 {}\r\n{headers}Content-Length: {}\r\n\r\n{}",
        answer.status,
        answer.body.len(),
        answer.body
    );
    stream.write_all(text.as_bytes()).ok()
}

fn answer(state: &mut AuthorityState, base: &str, request: &HttpRequest) -> HttpAnswer {
    state
        .log
        .push(format!("{} {}", request.method, request.path));
    match (&*request.method, &*request.path) {
        ("POST", "/mcp") => mcp(state, base, request),
        ("GET", "/.well-known/oauth-protected-resource/mcp") => HttpAnswer::json(&json!({
            "resource": format!("{base}/mcp"),
            "authorization_servers": [base],
        })),
        ("GET", "/.well-known/oauth-authorization-server") => HttpAnswer::json(&json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": ["dig"],
        })),
        ("POST", "/register") => register(state, request),
        ("GET", "/authorize") => authorize(state, base, request),
        ("POST", "/token") => token(state, request),
        _ => HttpAnswer::plain("404 Not Found"),
    }
}

fn register(state: &mut AuthorityState, request: &HttpRequest) -> HttpAnswer {
    let wish: Value = serde_json::from_str(&request.body).unwrap();
    let redirect = wish["redirect_uris"][0].as_str().unwrap().to_owned();
    let id = format!("client-{}", state.clients.len());
    state.clients.insert(id.clone(), redirect.clone());
    HttpAnswer::json(&json!({
        "client_id": id, "client_name": wish["client_name"], "redirect_uris": [redirect],
    }))
}

/// Agrees at once: whoever opens the page is the person.
fn authorize(state: &mut AuthorityState, base: &str, request: &HttpRequest) -> HttpAnswer {
    let query = &request.query;
    let redirect = &query["redirect_uri"];
    assert_eq!(state.clients.get(&query["client_id"]), Some(redirect));
    assert_eq!(query["code_challenge_method"], "S256");
    assert_eq!(query["resource"], format!("{base}/mcp"));
    let answer = if query.get("scope").is_some_and(|scope| scope == "rob") {
        "error=access_denied&error_description=not+that".to_owned()
    } else {
        let code = format!("code-{}", state.codes.len());
        state
            .codes
            .insert(code.clone(), query["code_challenge"].clone());
        format!("code={code}")
    };
    HttpAnswer {
        status: "302 Found",
        headers: vec![(
            "Location",
            format!("{redirect}?{answer}&state={}", query["state"]),
        )],
        body: String::new(),
    }
}

fn token(state: &mut AuthorityState, request: &HttpRequest) -> HttpAnswer {
    let form = form(&request.body);
    let is_good = match &*form["grant_type"] {
        "authorization_code" => {
            let challenge = state.codes.remove(&form["code"]);
            challenge == Some(challenge_of(&form["code_verifier"]))
        }
        "refresh_token" => {
            state.renewals += 1;
            form["refresh_token"] == format!("{SECRET}-renew-{}", state.generation)
        }
        _ => false,
    };
    if !is_good || state.is_closed {
        let mut refusal = HttpAnswer::json(&json!({ "error": "invalid_grant" }));
        refusal.status = "400 Bad Request";
        return refusal;
    }
    state.generation += 1;
    HttpAnswer::json(&json!({
        "access_token": format!("{SECRET}-access-{}", state.generation),
        "refresh_token": format!("{SECRET}-renew-{}", state.generation),
        "token_type": "Bearer", "expires_in": state.lifetime_s,
    }))
}

/// SHA-256 of the verifier, as RFC 7636 writes it.
fn challenge_of(verifier: &str) -> String {
    let hex = digest::of_bytes(verifier.as_bytes());
    let bytes = (0..hex.len()).step_by(2);
    let bytes = bytes.map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    URL_SAFE_NO_PAD.encode(bytes.collect::<Vec<u8>>())
}

fn mcp(state: &AuthorityState, base: &str, request: &HttpRequest) -> HttpAnswer {
    let token = format!("Bearer {SECRET}-access-{}", state.generation);
    if state.generation == 0 || request.headers.get("authorization") != Some(&token) {
        return HttpAnswer {
            status: "401 Unauthorized",
            headers: vec![(
                "WWW-Authenticate",
                format!(
                    "Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\""
                ),
            )],
            body: String::new(),
        };
    }
    let message: Value = serde_json::from_str(&request.body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "ore", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [
            { "name": "dig", "description": "Digs.", "inputSchema": { "type": "object" } },
        ]}),
        "tools/call" => json!({ "content": [{ "type": "text", "text": "gold" }] }),
        _ => return HttpAnswer::plain("202 Accepted"),
    };
    HttpAnswer::json(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
}

/// Reads `a=b&c=d`.
fn form(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits: Vec<u8> = rest.by_ref().take(2).collect();
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}
