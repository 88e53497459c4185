//! A tree that remembers what it was told, and whose lines can be recognised.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use troupe_engine::{
    ActivityHandle, AnswerRefusal, InquiryAnswer, OpenedSession, SessionHost, SessionOrder,
    StaleRequest, WriteAck, WriteBatch, WriteOutcome,
};
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::result::TaskResult;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{
    AgentLine, Callback, MessageId, TaskEnding, TimeMs, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, CallId, PendingQuestion, SessionId, SubmissionId};
use troupe_tools::DeliveryClaim;

#[derive(Debug)]
pub struct FakeHost {
    told: Mutex<Vec<String>>,
    results: Mutex<Vec<TaskResult>>,
    opened: Mutex<Option<OpenedSession>>,
    refuses: AtomicBool,
    /// A task begins only with a permit.
    doors: Semaphore,
    fates: Arc<Mutex<Vec<String>>>,
    vitals: ActivityHandle,
}

impl FakeHost {
    pub fn new() -> Arc<Self> {
        Arc::new(Self {
            told: Mutex::default(),
            results: Mutex::default(),
            opened: Mutex::default(),
            refuses: AtomicBool::new(false),
            doors: Semaphore::new(Semaphore::MAX_PERMITS),
            fates: Arc::default(),
            vitals: ActivityHandle::default(),
        })
    }

    pub fn give(&self, order: SessionOrder) -> bool {
        let opened = lock(&self.opened);
        opened
            .as_ref()
            .expect("the session is open")
            .orders
            .give(order)
    }

    /// Wants no more tasks and messages.
    pub fn refuse(&self) {
        self.refuses.store(true, Ordering::SeqCst);
    }

    pub fn welcome(&self) {
        self.refuses.store(false, Ordering::SeqCst);
    }

    /// Keeps tasks waiting that want to begin.
    pub fn close_doors(&self) {
        self.doors.forget_permits(Semaphore::MAX_PERMITS);
    }

    pub fn open_doors(&self) {
        self.doors.add_permits(1);
    }

    pub fn told(&self) -> Vec<String> {
        lock(&self.told).clone()
    }

    pub fn results(&self) -> Vec<TaskResult> {
        lock(&self.results).clone()
    }

    /// Returns what became of the lines, in order.
    pub fn fates(&self) -> Vec<String> {
        lock(&self.fates).clone()
    }

    pub fn receipt(&self, name: &str) -> WriteAck {
        let (fates, name) = (Arc::clone(&self.fates), name.to_owned());
        WriteAck::new(move |fate| {
            let fate = match fate {
                WriteOutcome::Written => "written",
                WriteOutcome::Lost => "lost",
            };
            lock(&fates).push(format!("{name} {fate}"));
        })
    }

    fn tell(&self, text: String) {
        lock(&self.told).push(text);
    }

    fn lines(&self, name: &str, fact: TreeFact, result: Option<TaskResult>) -> WriteBatch {
        WriteBatch {
            records: vec![agent_line(fact, result)],
            receipt: Some(self.receipt(name)),
        }
    }

    fn wanted(&self) -> Result<(), StaleRequest> {
        if self.refuses.load(Ordering::SeqCst) {
            return Err(StaleRequest);
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics with it")
}

pub fn agent_line(fact: TreeFact, result: Option<TaskResult>) -> RolloutRecord {
    RolloutRecord::Agent(Box::new(AgentLine {
        tree: SessionId::random(),
        record: TreeRecord {
            order: 1,
            at: TimeMs(0),
            log: AgentId::ROOT,
            fact,
        },
        spec: None,
        message: None,
        result: result.map(Box::new),
    }))
}

#[async_trait]
impl SessionHost for FakeHost {
    fn opened(&self, opened: OpenedSession) {
        self.tell(format!("opened has_agents={}", opened.has_agents));
        *lock(&self.opened) = Some(opened);
    }

    fn has_tree(&self) -> bool {
        true
    }

    async fn starting(
        &self,
        task: &SubmissionId,
        message: Option<MessageId>,
    ) -> Result<WriteBatch, StaleRequest> {
        self.tell(format!("starting {task} with mail={}", message.is_some()));
        let door = self.doors.acquire().await.expect("it is never closed");
        drop(door);
        self.wanted()?;
        let fact = TreeFact::Started {
            agent: AgentId::ROOT,
            task: task.clone(),
            message,
        };
        Ok(self.lines("start", fact, None))
    }

    async fn taking(&self, messages: &[MessageId]) -> Result<WriteBatch, StaleRequest> {
        self.tell(format!("taking {}", messages.len()));
        self.wanted()?;
        let fact = TreeFact::Took {
            agent: AgentId::ROOT,
            messages: messages.to_vec(),
        };
        Ok(self.lines("take", fact, None))
    }

    async fn claiming(&self, claims: Vec<DeliveryClaim>) -> WriteBatch {
        self.tell(format!("claiming {claims:?}"));
        let fact = TreeFact::Consumed {
            agent: AgentId::ROOT,
            messages: Vec::new(),
        };
        self.lines("claim", fact, None)
    }

    async fn ending(&self, result: TaskResult) -> WriteBatch {
        self.tell(format!("ending {}", result.task_id));
        lock(&self.results).push(result.clone());
        let fact = TreeFact::Ended {
            agent: AgentId::ROOT,
            task: result.task_id.clone(),
            end: TaskEnding::Completed,
            callback: None::<Callback>,
        };
        self.lines("end", fact, Some(result))
    }

    fn question_asked(&self, call_id: &CallId, _: &PendingQuestion) {
        self.tell(format!("asking {call_id}"));
    }

    fn question_answered(&self, call_id: &CallId, word: &InquiryAnswer) {
        self.tell(format!("answered {call_id} {word:?}"));
    }

    async fn decide(&self, id: &str, word: InquiryAnswer) -> Result<(), AnswerRefusal> {
        self.tell(format!("decide {id} {word:?}"));
        if id == "childs" {
            Ok(())
        } else {
            Err(AnswerRefusal::Unknown { id: id.to_owned() })
        }
    }

    async fn review(&self, _: &SubmissionId, _: ReviewRequest) -> Result<(), String> {
        Err("there is nobody to review it".to_owned())
    }

    fn reasoning(&self, header: &str) {
        self.tell(format!("reasoning {header}"));
    }

    fn activity_handle(&self) -> &ActivityHandle {
        &self.vitals
    }
}
