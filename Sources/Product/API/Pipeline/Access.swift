/// What an endpoint asks of the credential.
package enum Access: Sendable, Equatable {
    /// No credential is looked at; the endpoint may have rules of its own (hooks, sign-in).
    case open
    /// Anyone who is signed in.
    case principal
    /// A right by the name of its management scope, `users:read`, in the path's tenant if any.
    case right(String)
    /// The right, be it over own things alone: the handler looks whose thing it is.
    case own(String)
    /// Any of the rights: the handler looks which one the request needs.
    case anyOf([String])
    /// The right, and only for the platform's operators and keys.
    case platform(String)
}
