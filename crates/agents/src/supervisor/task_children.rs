//! Which children the tasks in flight have made: a part of their results. Looking for them
//! among all children of an agent would cost a root that is told of each of a thousand
//! children a look at all of them every time.

use std::collections::HashMap;

use troupe_protocol::tree::AgentBirth;
use troupe_protocol::{AgentId, SubmissionId};
use troupe_tree::lifecycle::Lifecycle;
use troupe_tree::{AgentRecord, TreeMemory};

#[derive(Debug, Default)]
pub(super) struct TaskChildren(HashMap<SubmissionId, Vec<AgentId>>);

impl TaskChildren {
    /// Finds the children of tasks that the engine did not survive.
    pub(super) fn of_running(memory: &TreeMemory) -> Self {
        let mut births = Self::default();
        for agent in memory.iter() {
            let Lifecycle::Running { task } = &agent.lifecycle else {
                continue;
            };
            let children = agent.children.iter().filter_map(|child| memory.get(*child));
            let made = children.filter(|child| is_made_by(child, task));
            let made: Vec<AgentId> = made.map(|child| child.id).collect();
            births.0.insert(task.clone(), made);
        }
        births
    }

    /// Notes a child, if it was made by what its parent is doing.
    pub(super) fn note(&mut self, birth: &AgentBirth, in_flight: Option<&SubmissionId>) {
        let point = birth.genealogy.point.as_ref();
        if let Some(task) = point.map(|point| &point.task)
            && in_flight == Some(task)
        {
            self.0.entry(task.clone()).or_default().push(birth.agent);
        }
    }

    /// Takes out what a task has made that is over now.
    pub(super) fn take(&mut self, task: &SubmissionId) -> Vec<AgentId> {
        self.0.remove(task).unwrap_or_default()
    }
}

fn is_made_by(child: &AgentRecord, task: &SubmissionId) -> bool {
    let point = child.genealogy.as_ref().and_then(|it| it.point.as_ref());
    point.is_some_and(|point| point.task == *task)
}
