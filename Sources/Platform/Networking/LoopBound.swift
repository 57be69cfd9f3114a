/// Carries a value of one loop through code on other threads.
///
/// `@unchecked Sendable`: the value is accessible on its loop's thread only, which `value` checks
/// in every build; it may be created and released anywhere, so it must not own anything that only
/// its loop may free.
package struct LoopBound<Value>: @unchecked Sendable {
    private let held: Value
    package let loop: EventLoop

    package init(_ value: Value, loop: EventLoop) {
        held = value
        self.loop = loop
    }

    package var value: Value {
        precondition(loop.isCurrent, "reached from outside its event loop")
        return held
    }
}
