//! All servers by number.

use crate::ids::ServerId;
use crate::moment::Moment;
use crate::servers::Server;
use crate::settings::ServerSettings;

/// All servers by number. Numbers are never reused: a server removed from the config stays, marked as removed.
#[derive(Debug)]
pub(crate) struct Servers(Vec<Server>);

impl Servers {
    pub(crate) fn new(settings: Vec<ServerSettings>, now: Moment) -> Self {
        Self(settings.into_iter().map(|settings| Server::new(settings, now)).collect())
    }

    pub(crate) fn get(&self, id: ServerId) -> Option<&Server> {
        self.0.get(id.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, id: ServerId) -> Option<&mut Server> {
        self.0.get_mut(id.0 as usize)
    }

    /// The only server, if there is exactly one.
    pub(crate) fn only(&self) -> Option<&Server> {
        match &self.0[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (ServerId, &Server)> {
        self.ids().zip(&self.0)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ServerId> + use<> {
        (0..self.0.len() as u32).map(ServerId)
    }

    /// Applies the settings of a new config; a new server gets the next number.
    pub(crate) fn configure(&mut self, id: ServerId, settings: ServerSettings, now: Moment) {
        match self.get_mut(id) {
            Some(server) => server.renew(settings, now),
            None => self.0.push(Server::new(settings, now)),
        }
    }
}
