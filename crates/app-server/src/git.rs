//! `gitDiffToRemote`: what a working tree has that its remote does not.
//!
//! Git runs in the sandbox, only reads, and starts nothing that the repository names.

use std::path::Path;

use troupe_process::GitReader;
use troupe_protocol::policy::SandboxPolicy;
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::host_services::HostServices;
use super::wire::git::{GitDiffToRemoteParams, GitDiffToRemoteResponse};
use crate::limits::DIFF_NEW_FILES_MAX;

pub(super) fn diff_to_remote(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: GitDiffToRemoteParams| async move {
            let git = GitCommand::open(client.app().host_services(), &params.cwd).await?;
            let sha = git.newest_shared().await?;
            let known = ["diff", "--no-ext-diff", "--no-textconv", &sha, "--"];
            let known = git.run(&known).await?;
            let mut diff = known.success()?;
            for path in git.new_files().await? {
                diff += &git.whole(&path).await?;
            }
            Ok(GitDiffToRemoteResponse { sha, diff })
        },
    )
}

struct GitCommand<'a> {
    reader: GitReader,
    cwd: &'a Path,
}

/// What a git came to.
struct GitReply {
    exit_code: i32,
    stdout: String,
    stderr: String,
}

impl GitReply {
    fn success(self) -> Result<String, RpcError> {
        if self.exit_code == 0 {
            return Ok(self.stdout);
        }
        let why = self.stderr.trim();
        Err(RpcError::invalid_request(format!("git failed: {why}")))
    }
}

impl<'a> GitCommand<'a> {
    async fn open(office: &dyn HostServices, cwd: &'a Path) -> Result<Self, RpcError> {
        let workplace = office
            .workplace(Some(cwd), Some(SandboxPolicy::read_only()))
            .map_err(RpcError::invalid_request)?;
        let reader = GitReader::open(workplace.launcher, &workplace.cwd, &workplace.env).await;
        let reader = reader.map_err(|error| RpcError::invalid_request(error.to_string()))?;
        Ok(Self { reader, cwd })
    }

    /// Finds the newest commit of the branch that a remote has too.
    async fn newest_shared(&self) -> Result<String, RpcError> {
        let head = self.run(&["rev-parse", "--verify", "HEAD"]).await?;
        let head = head.success()?.trim().to_owned();
        let remotes = self.run(&["for-each-ref", "--count=1", "refs/remotes"]);
        if remotes.await?.success()?.is_empty() {
            let message = format!("{} has no remote branches", self.cwd.display());
            return Err(RpcError::invalid_request(message));
        }
        let own = ["rev-list", "--boundary", "HEAD", "--not", "--remotes"];
        let own = self.run(&own).await?.success()?;
        if own.is_empty() {
            return Ok(head);
        }
        // Commits that are shared and border on own ones are marked.
        let border = own.lines().find_map(|line| line.strip_prefix('-'));
        border.map(ToOwned::to_owned).ok_or_else(|| {
            RpcError::invalid_request("no remote branch has a commit of this one".to_owned())
        })
    }

    /// Returns the files that git does not know, by paths from the top of the repository.
    async fn new_files(&self) -> Result<Vec<String>, RpcError> {
        let listed = ["ls-files", "--others", "--exclude-standard", "-z"];
        let listed = self.run(&listed).await?.success()?;
        let paths = listed.split_terminator('\0');
        let paths: Vec<String> = paths.map(ToOwned::to_owned).collect();
        if paths.len() > DIFF_NEW_FILES_MAX {
            let message = format!(
                "there are {} files that git does not know, and at most {DIFF_NEW_FILES_MAX} are \
                 compared; add or ignore them first",
                paths.len()
            );
            return Err(RpcError::invalid_request(message));
        }
        Ok(paths)
    }

    /// Returns a new file as a difference to nothing.
    async fn whole(&self, path: &str) -> Result<String, RpcError> {
        let compare = [
            "diff",
            "--no-ext-diff",
            "--no-textconv",
            "--no-index",
            "--",
            "/dev/null",
            path,
        ];
        let said = self.run(&compare).await?;
        // 1 says that there is a difference.
        if said.exit_code == 1 {
            return Ok(said.stdout);
        }
        said.success()
    }

    async fn run(&self, arguments: &[&str]) -> Result<GitReply, RpcError> {
        let done = self.reader.run(arguments).await;
        let done = done.map_err(|error| RpcError::invalid_request(error.to_string()))?;
        Ok(GitReply {
            exit_code: done.code.unwrap_or(-1),
            stdout: String::from_utf8_lossy(&done.stdout).into_owned(),
            stderr: done.stderr,
        })
    }
}
