//! Units that start the daemon with the user's login.

use std::path::Path;

use clap::ValueEnum;

use crate::home::TroupeHome;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UnitKind {
    Systemd,
    Launchd,
}

impl Default for UnitKind {
    fn default() -> Self {
        if cfg!(target_os = "macos") {
            Self::Launchd
        } else {
            Self::Systemd
        }
    }
}

impl UnitKind {
    pub fn text(self, program: &Path, home: &TroupeHome) -> String {
        let (program, home) = (program.display(), home.path().display());
        match self {
            Self::Systemd => format!(
                "# troupe serve unit systemd > ~/.config/systemd/user/troupe.service\n\
                 # systemctl --user enable --now troupe\n\
                 [Unit]\n\
                 Description=Troupe, the daemon of {home}\n\
                 \n\
                 [Service]\n\
                 Environment=\"TROUPE_HOME={home}\"\n\
                 ExecStart=\"{program}\" serve\n\
                 Restart=on-failure\n\
                 SuccessExitStatus=143\n\
                 \n\
                 [Install]\n\
                 WantedBy=default.target\n"
            ),
            Self::Launchd => format!(
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
                 <!-- troupe serve unit launchd > ~/Library/LaunchAgents/troupe.plist -->\n\
                 <!-- launchctl load ~/Library/LaunchAgents/troupe.plist -->\n\
                 <plist version=\"1.0\"><dict>\n\
                 <key>Label</key><string>troupe</string>\n\
                 <key>ProgramArguments</key>\n\
                 <array><string>{program}</string><string>serve</string></array>\n\
                 <key>EnvironmentVariables</key>\n\
                 <dict><key>TROUPE_HOME</key><string>{home}</string></dict>\n\
                 <key>RunAtLoad</key><true/>\n\
                 </dict></plist>\n"
            ),
        }
    }
}
