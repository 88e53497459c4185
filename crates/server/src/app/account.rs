//! `account/*` and `getAuthStatus`: whether there is a key, and how far it goes.

use super::call::{Call, Handling};
use super::connection::Connection;
use super::office::KeyStatus;
use super::wire::Empty;
use super::wire::account::{
    Account, AccountReadResponse, AuthMethod, AuthStatusResponse, RateLimitsResponse,
};

pub(super) fn read(call: Call) -> Handling {
    call.answer(|client: Connection, _: Empty| async move {
        let key = client.app().office().key();
        Ok(AccountReadResponse {
            account: (key == KeyStatus::Present).then_some(Account::ApiKey),
            requires_openai_auth: key == KeyStatus::Missing,
        })
    })
}

pub(super) fn auth_status(call: Call) -> Handling {
    call.answer(|client: Connection, _: Empty| async move {
        let key = client.app().office().key();
        Ok(AuthStatusResponse {
            auth_method: (key == KeyStatus::Present).then_some(AuthMethod::ApiKey),
            auth_token: None,
            requires_openai_auth: Some(key == KeyStatus::Missing),
        })
    })
}

pub(super) fn rate_limits(call: Call) -> Handling {
    call.answer(|client: Connection, _: Empty| async move {
        Ok(RateLimitsResponse {
            rate_limits: client.app().rate_limits(),
        })
    })
}
