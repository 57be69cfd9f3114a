import Synchronization

/// The answer to a request whose time is over, in the form of who handles it: whoever knows more
/// about the request than the one before sets it anew.
package final class LateForm: Sendable {
    /// `mayHaveWritten`: something may have been committed for the request.
    package typealias Form = @Sendable (_ mayHaveWritten: Bool) -> Response

    private let form = Mutex<Form?>(nil)

    /// Without a form: the server answers a plain 503.
    package init() {}

    /// Replaces the form; callable from any thread.
    package func set(_ form: @escaping Form) {
        self.form.withLock { $0 = form }
    }

    /// Nil where nothing was set.
    package func response(mayHaveWritten: Bool) -> Response? {
        form.withLock { $0 }?(mayHaveWritten)
    }
}
