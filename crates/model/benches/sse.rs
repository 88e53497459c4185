//! What a text delta costs from the socket to the caller, both wires. The server is a bare
//! thread that writes bytes made beforehand, so the figure is the provider's.
//!
//! `cargo bench -p troupe-model`; divide by the number of deltas.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where it fails")]

use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio::runtime::Runtime;
use troupe_model::{
    EncodedInstructions, HistoryItem, LanguageModel, ModelRequest, ModelToolChoice, ProviderConfig,
    WireApi,
};
use troupe_protocol::ResponseItem;
use troupe_protocol::policy::ReasoningSummary;

const DELTAS: usize = 20_000;

fn deltas(c: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let mut group = c.benchmark_group("deltas");
    group.throughput(Throughput::Elements(DELTAS as u64));
    group.sample_size(20);
    for (name, wire_api, body) in [
        ("responses", WireApi::Responses, responses_body()),
        ("chat", WireApi::Chat, chat_body()),
    ] {
        let model = serve(wire_api, body);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let events = runtime.block_on(read(&*model));
                assert!(events > DELTAS);
            });
        });
    }
    group.finish();
}

async fn read(model: &dyn LanguageModel) -> usize {
    let mut stream = model.open(request());
    let mut events = 0;
    while let Some(batch) = stream.next_batch().await {
        events += black_box(batch).len();
    }
    events
}

fn responses_body() -> Vec<u8> {
    let delta = r#"{"type":"response.output_text.delta","sequence_number":7,"item_id":"msg_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b","output_index":0,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"Qz1vXyR3"}"#;
    let delta = format!("event: response.output_text.delta\ndata: {delta}\n\n");
    let end = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"output\":[]}}\n\n";
    (delta.repeat(DELTAS) + end).into_bytes()
}

fn chat_body() -> Vec<u8> {
    let delta = r#"{"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}]}"#;
    let delta = format!("data: {delta}\n\n");
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    (delta.repeat(DELTAS) + end).into_bytes()
}

/// Answers every request on every connection with the same bytes, until the process ends.
fn serve(wire_api: WireApi, body: Vec<u8>) -> Arc<dyn LanguageModel> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let config = ProviderConfig {
        base_url: format!("http://{}", listener.local_addr().unwrap()),
        wire_api,
        ..ProviderConfig::default()
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let answer: Arc<[u8]> = [head.as_bytes(), &body].concat().into();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let answer = answer.clone();
            let socket = socket.unwrap();
            thread::spawn(move || answer_all(socket, &answer));
        }
    });
    config.connect("bench", None).unwrap()
}

fn answer_all(mut socket: TcpStream, answer: &[u8]) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    while let Some(length) = read_head(&mut reader) {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        if socket.write_all(answer).is_err() {
            return;
        }
    }
}

/// Returns the length of the body that follows, `None` when the client is gone.
fn read_head(reader: &mut impl BufRead) -> Option<usize> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line == "\r\n" {
            return Some(length);
        }
    }
}

fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        instructions: Arc::new(EncodedInstructions::new("Be brief.")),
        input: vec![Arc::new(HistoryItem::new(ResponseItem::user_text("go")))],
        tools: Arc::default(),
        tool_choice: ModelToolChoice::Auto,
        parallel_tool_calls: true,
        effort: None,
        summary: ReasoningSummary::Auto,
        output_schema: None,
        previous: None,
        prompt_cache_key: None,
        conversation: None,
    }
}

criterion_group!(benches, deltas);
criterion_main!(benches);
