import Domain

/// The access that an endpoint requires.
package enum Access: Sendable, Equatable {
    /// No credential is checked; the endpoint may have its own rules (hooks, sign-in).
    case open
    /// Any authenticated caller.
    case principal
    /// An operator by the console's session.
    case console
    /// A right, in the path's tenant if any.
    case right(Right)
    /// The right, possibly only over own objects: the handler checks the owner.
    case own(Right)
    /// Any of the rights: the handler checks which one the request needs.
    case anyOf([Right])
    /// The right, and only for the platform's operators and keys.
    case platform(Right)
}
