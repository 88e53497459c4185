//! A client of the Model Context Protocol, as small as one can be.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;
use troupe_mcp::serve::serve_stream;
use troupe_server::SessionPool;
use troupe_server::headless::HeadlessPolicy;
use troupe_server::mcp::SessionTools;
use troupe_testkit::Stage;

const PATIENCE: Duration = Duration::from_mins(1);
const PIPE_BYTES: usize = 64 * 1024;

pub struct Client {
    house: SessionPool,
    served: JoinHandle<()>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    next_id: u64,
    /// What the server said of itself.
    pub greeting: Value,
    /// What the person answers, in this order.
    pub replies: VecDeque<Value>,
    /// What the person was asked.
    pub asked: Vec<Value>,
    /// What was told of calls: number and message.
    pub progress: Vec<(f64, String)>,
}

impl Client {
    /// Connects a client that can ask nobody.
    pub async fn connect(stage: &Stage) -> Self {
        Self::introduced(stage, json!({})).await
    }

    pub async fn who_shows_forms(stage: &Stage) -> Self {
        Self::introduced(stage, json!({"elicitation": {}})).await
    }

    async fn introduced(stage: &Stage, capabilities: Value) -> Self {
        let house = SessionPool::new(stage.ground());
        let orchestra = Arc::new(SessionTools::new(
            house.clone(),
            HeadlessPolicy::Refuse,
            "0.0.0",
        ));
        let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
        let (read, write) = tokio::io::split(theirs);
        let served = tokio::spawn(serve_stream(orchestra, read, write));
        let (read, writer) = tokio::io::split(ours);
        let mut client = Self {
            house,
            served,
            lines: BufReader::new(read).lines(),
            writer,
            next_id: 0,
            greeting: Value::Null,
            replies: VecDeque::new(),
            asked: Vec::new(),
            progress: Vec::new(),
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": "outside", "version": "1"},
        });
        client.greeting = client.request("initialize", hello).await["result"].take();
        client.notify("notifications/initialized", json!({})).await;
        client
    }

    /// Calls a tool that does what it is asked; returns the structured part.
    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.begin(tool, arguments).await;
        self.structured(id).await
    }

    pub async fn call_with_progress(&mut self, tool: &str, arguments: Value) -> Value {
        let meta = json!({"progressToken": "t"});
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let id = self.send("tools/call", params).await;
        self.structured(id).await
    }

    /// Calls a tool that cannot do what it is asked; returns what it says.
    pub async fn failed(&mut self, tool: &str, arguments: Value) -> String {
        let id = self.begin(tool, arguments).await;
        let response = self.response(id).await;
        assert_eq!(response["result"]["isError"], true, "{response}");
        let text = &response["result"]["content"][0]["text"];
        text.as_str().expect("it says why").to_owned()
    }

    pub async fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let params = json!({"name": tool, "arguments": arguments});
        self.send("tools/call", params).await
    }

    /// Waits for the answer to a call that was begun.
    pub async fn ended(&mut self, id: u64) -> Value {
        self.structured(id).await
    }

    async fn structured(&mut self, id: u64) -> Value {
        let mut response = self.response(id).await;
        assert_ne!(response["result"]["isError"], true, "{response}");
        let value = response["result"]["structuredContent"].take();
        assert!(value.is_object(), "{response}");
        value
    }

    /// Spawns a session and returns its id.
    pub async fn spawned(&mut self, prompt: &str) -> String {
        let spawned = self
            .call("troupe_sessions_spawn", json!({"prompt": prompt}))
            .await;
        let id = spawned["sessionId"].as_str();
        id.expect("it has an id").to_owned()
    }

    pub async fn cancel(&mut self, id: u64) {
        self.notify("notifications/cancelled", json!({"requestId": id}))
            .await;
    }

    pub async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.response(id).await
    }

    async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.write(&format!("{message}\n")).await;
        id
    }

    async fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.write(&format!("{message}\n")).await;
    }

    pub async fn write(&mut self, text: &str) {
        let written = self.writer.write_all(text.as_bytes()).await;
        written.expect("the server reads");
    }

    /// Reads until the answer to a request, and does meanwhile what clients do.
    async fn response(&mut self, id: u64) -> Value {
        loop {
            let read = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
            let line = read.expect("an answer comes in time").expect("a line");
            let line = line.expect("the server goes on");
            let mut message: Value = serde_json::from_str(&line).expect("a line is JSON");
            let params = message["params"].take();
            match message["method"].as_str() {
                Some("elicitation/create") => self.answer(&message["id"], params).await,
                Some("notifications/progress") => {
                    let text = params["message"].as_str().unwrap_or_default().to_owned();
                    let number = params["progress"].as_f64().expect("a number");
                    self.progress.push((number, text));
                }
                _ if message["id"] == id => return message,
                _ => {}
            }
        }
    }

    async fn answer(&mut self, id: &Value, params: Value) {
        self.asked.push(params);
        let reply = self.replies.pop_front().expect("the person has an answer");
        let message = json!({"jsonrpc": "2.0", "id": id, "result": reply});
        self.write(&format!("{message}\n")).await;
    }

    /// Closes the connection, and ends all sessions in order.
    pub async fn end(self) {
        drop((self.lines, self.writer));
        let served = tokio::time::timeout(PATIENCE, self.served).await;
        served
            .expect("the server notices")
            .expect("it does not panic");
        self.house.end().await;
    }
}
