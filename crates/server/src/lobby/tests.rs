use super::*;

const LONG: Duration = Duration::from_hours(1);

fn peer(last: u8) -> ConnectionPeer {
    ConnectionPeer::at(IpAddr::from([10, 0, 0, last]))
}

#[tokio::test]
async fn a_peer_that_takes_more_than_its_share_drives_out_its_own() {
    let places = ConnectionPlaces::new(1);
    let other = places.enter(peer(1), LONG);
    let all: Vec<ConnectionEntry> = (0..=STRANGERS_PER_PEER_MAX)
        .map(|_| places.enter(peer(2), LONG))
        .collect();
    all[0].over().await;
    for stays in all[1..].iter().chain([&other]) {
        assert!(!stays.0.sent_away.is_cancelled());
    }
}

#[tokio::test]
async fn a_full_lobby_sends_away_who_has_most_in_it() {
    let places = ConnectionPlaces::new(1);
    let busy: Vec<ConnectionEntry> = (0..STRANGERS_PER_PEER_MAX)
        .map(|_| places.enter(peer(0), LONG))
        .collect();
    let mut others = Vec::new();
    for number in 0..=STRANGERS_MAX - STRANGERS_PER_PEER_MAX {
        let last = u8::try_from(1 + number).unwrap();
        others.push(places.enter(peer(last), LONG));
    }
    busy[0].over().await;
    assert!(!busy[1].0.sent_away.is_cancelled());
    assert!(others.iter().all(|it| !it.0.sent_away.is_cancelled()));
}

#[tokio::test]
async fn who_was_admitted_stays_and_gives_the_place_up_at_the_end() {
    let places = ConnectionPlaces::new(1);
    let entry = places.enter(peer(1), Duration::ZERO);
    assert_eq!(entry.admit(), Ok(()));
    assert_eq!(entry.admit(), Ok(()), "it has its place");
    let over = tokio::time::timeout(Duration::from_millis(1), entry.over()).await;
    assert!(over.is_err(), "no deadline counts any more");
    let second = places.enter(peer(1), LONG);
    assert_eq!(second.admit(), Err(PlacesTaken));
    drop(entry);
    assert_eq!(second.admit(), Ok(()));
}

#[tokio::test]
async fn who_shows_nothing_in_time_has_to_go() {
    let places = ConnectionPlaces::new(1);
    places
        .enter(ConnectionPeer::User, Duration::ZERO)
        .over()
        .await;
}

#[test]
fn addresses_of_one_network_are_one_peer() {
    let at = |address: &str| ConnectionPeer::at(address.parse().unwrap());
    assert_eq!(at("2001:db8::1"), at("2001:db8::2"));
    assert_ne!(at("2001:db8::1"), at("2001:db8:0:1::1"));
    assert_eq!(at("::ffff:10.0.0.1"), at("10.0.0.1"));
}
