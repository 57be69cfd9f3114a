/// What a report about a mail led to.
package enum BounceResult: String, Sendable, CaseIterable {
    /// The invite shows that its mail came back.
    case bounced
    /// The invite still shows that it is sent, with the mail server's words.
    case delayed
    /// The invite was mailed again since, has ended, or shows that already.
    case outdated
    /// No mail that is remembered has the return address.
    case unknown
    /// The message is no report of a failure or a delay.
    case ignored
}
