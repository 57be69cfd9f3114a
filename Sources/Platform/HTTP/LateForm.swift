import Synchronization

/// The format of the response to a request that exceeds its time limit. Each handler that knows
/// more about the request replaces it.
package final class LateForm: Sendable {
    /// `mayHaveWritten`: something may have been committed for the request.
    package typealias Form = @Sendable (_ mayHaveWritten: Bool) -> Response

    private let form = Mutex<Form?>(nil)

    /// Without a form: the server answers a plain 503.
    package init() {}

    /// Replaces the form; callable from any thread.
    package func set(_ form: @escaping Form) { self.form.withLock { $0 = form } }

    package func response(mayHaveWritten: Bool) -> Response? {
        form.withLock { $0 }?(mayHaveWritten)
    }
}
