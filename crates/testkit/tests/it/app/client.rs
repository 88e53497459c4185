//! A client that speaks in lines.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use troupe_app_server::AppServer;
use troupe_server::SessionPool;
use troupe_testkit::Stage;

use super::office::PlainOffice;

/// Long, because it is only met when something is broken.
const PATIENCE: Duration = Duration::from_mins(1);

const PIPE_BYTES: usize = 1024 * 1024;

pub fn app(stage: &Stage) -> AppServer {
    let house = SessionPool::new(stage.ground());
    let office = PlainOffice::in_directory(stage.cwd());
    AppServer::new(house, Arc::new(office), stage.home())
}

pub struct Client {
    input: WriteHalf<DuplexStream>,
    output: Lines<BufReader<ReadHalf<DuplexStream>>>,
    /// What came while something else was waited for.
    passed: VecDeque<Value>,
    next: u32,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Client {
    /// Connects, and says nothing.
    pub fn connect(app: &AppServer) -> Self {
        Self::with_room(app, PIPE_BYTES)
    }

    /// As [`Self::connect`], with so much room for what it has not read.
    pub fn with_room(app: &AppServer, bytes: usize) -> Self {
        let app = app.clone();
        Self::piped(bytes, |read, write| async move {
            let ending = CancellationToken::new();
            app.serve_lines(read, write, ending).await
        })
    }

    /// Connects to whoever serves the other end of two pipes.
    pub fn of<F>(serve: impl FnOnce(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) -> F) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        Self::piped(PIPE_BYTES, serve)
    }

    fn piped<F>(
        bytes: usize,
        serve: impl FnOnce(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>) -> F,
    ) -> Self
    where
        F: Future<Output = std::io::Result<()>> + Send + 'static,
    {
        let (ours, theirs) = tokio::io::duplex(bytes);
        let (read, write) = tokio::io::split(theirs);
        let serving = tokio::spawn(serve(read, write));
        let (output, input) = tokio::io::split(ours);
        Self {
            input,
            output: BufReader::new(output).lines(),
            passed: VecDeque::new(),
            next: 1,
            serving,
        }
    }

    /// Connects and introduces itself, with the capabilities that it wants.
    pub async fn introduced(app: &AppServer, capabilities: Value) -> Self {
        let mut client = Self::connect(app);
        client.introduce(capabilities).await;
        client
    }

    pub async fn introduce(&mut self, capabilities: Value) {
        let info = json!({"name": "test", "version": "1"});
        let hello = json!({"clientInfo": info, "capabilities": capabilities});
        self.call("initialize", hello).await.unwrap();
        let initialized = json!({"method": "initialized"});
        self.write(&initialized.to_string()).await;
    }

    pub async fn ready(app: &AppServer) -> Self {
        Self::introduced(app, json!({"experimentalApi": true})).await
    }

    pub async fn write(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.input.write_all(line.as_bytes()).await.unwrap();
    }

    /// Returns the next message of the server, whatever it is.
    pub async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line.expect("the server says something").unwrap();
        serde_json::from_str(&line.expect("the server goes on")).unwrap()
    }

    /// Returns the next message, also one that came while another was waited for. If none comes,
    /// the test ends with what `missing` says.
    pub async fn next_or(&mut self, missing: impl FnOnce() -> String) -> Value {
        if let Some(message) = self.passed.pop_front() {
            return message;
        }
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await;
        let line = line.unwrap_or_else(|_| panic!("{}", missing())).unwrap();
        serde_json::from_str(&line.expect("the server goes on")).unwrap()
    }

    /// Sends a request and returns its id.
    pub async fn send(&mut self, method: &str, params: Value) -> Value {
        let id = json!(format!("r{}", self.next));
        self.next += 1;
        let request = json!({"id": id, "method": method, "params": params});
        self.write(&request.to_string()).await;
        id
    }

    /// Waits for the answer to a request; what else comes is kept.
    pub async fn answer(&mut self, id: &Value) -> Result<Value, Value> {
        let is_it = |message: &Value| message.get("method").is_none() && message["id"] == *id;
        let mut answer = self.until(is_it).await;
        match answer.get_mut("error") {
            Some(error) => Err(error.take()),
            None => Ok(answer["result"].take()),
        }
    }

    pub async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.send(method, params).await;
        self.answer(&id).await
    }

    /// Returns the first message that is meant; those before it are kept.
    pub async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.passed.iter().position(&is_it) {
            return self.passed.remove(place).unwrap();
        }
        loop {
            let message = self.read().await;
            if is_it(&message) {
                return message;
            }
            self.passed.push_back(message);
        }
    }

    /// Returns the parameters of the next notification or request of this name; what came
    /// before stays for others.
    pub async fn told(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method).await["params"].take()
    }

    /// Returns the next request of the server of this name: its id and its parameters.
    pub async fn asked(&mut self, method: &str) -> (Value, Value) {
        let is_it = |message: &Value| message["method"] == method && message.get("id").is_some();
        let mut request = self.until(is_it).await;
        (request["id"].take(), request["params"].take())
    }

    pub async fn respond(&mut self, id: &Value, result: Value) {
        self.write(&json!({"id": id, "result": result}).to_string())
            .await;
    }

    /// Returns everything up to a notification of this name, in the order in which it came.
    pub async fn all_until(&mut self, method: &str) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let message = match self.passed.pop_front() {
                Some(message) => message,
                None => self.read().await,
            };
            let found = message["method"] == method;
            all.push(message);
            if found {
                return all;
            }
        }
    }

    /// Opens a thread and returns its id.
    pub async fn thread(&mut self) -> String {
        let opened = self.call("thread/start", json!({})).await.unwrap();
        opened["thread"]["id"].as_str().unwrap().to_owned()
    }

    /// Begins a turn and returns its id.
    pub async fn turn(&mut self, thread: &str, text: &str) -> String {
        let started = self.call("turn/start", saying(thread, text)).await.unwrap();
        started["turn"]["id"].as_str().unwrap().to_owned()
    }

    /// Runs a whole turn and returns it as it ended.
    pub async fn whole_turn(&mut self, thread: &str, text: &str) -> Value {
        self.turn(thread, text).await;
        self.told("turn/completed").await["turn"].take()
    }

    /// Closes the client's end, and waits for the server's.
    pub async fn leave(mut self) {
        self.input.shutdown().await.unwrap();
        self.ended().await;
    }

    /// Waits for the server's end.
    pub async fn ended(mut self) {
        let left = async {
            while self.output.next_line().await.unwrap().is_some() {}
            self.serving.await.unwrap().unwrap();
        };
        tokio::time::timeout(PATIENCE, left).await.unwrap();
    }
}

pub fn saying(thread: &str, text: &str) -> Value {
    json!({"threadId": thread, "input": [{"type": "text", "text": text}]})
}

/// Returns the names of notifications and requests, and the kinds of items, one per line.
pub fn outline(messages: &[Value]) -> String {
    let line = |message: &Value| {
        let method = message["method"].as_str().unwrap_or("response");
        match message["params"]["item"]["type"].as_str() {
            Some(kind) => format!("{method} {kind}"),
            None => match message["params"]["status"]["type"].as_str() {
                Some(status) => format!("{method} {status}"),
                None => method.to_owned(),
            },
        }
    };
    let mut lines: Vec<String> = messages.iter().map(line).collect();
    lines.dedup();
    lines.join("\n")
}
