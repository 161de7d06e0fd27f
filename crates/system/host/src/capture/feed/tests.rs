use super::*;

#[test]
fn an_interface_that_is_not_there_is_an_error_and_lo_is_listed() {
    assert!(Feed::start("nosuch0", |_| true).is_err());
    assert!(interfaces().unwrap().iter().any(|name| name == "lo"));
}

#[test]
fn interface_of_a_type_that_no_list_names_is_an_unknown_link() {
    assert_eq!(link_type(libc::ARPHRD_ETHER), ETHERNET);
    assert_eq!(link_type(libc::ARPHRD_NONE), RAW_IP);
    assert_eq!(link_type(libc::ARPHRD_INFINIBAND), UNKNOWN_LINK);
}
