/// Carries what lives on one loop through code that may run anywhere.
///
/// `@unchecked Sendable`: the value can be reached on its loop's own thread only, which `value`
/// checks in every build; it must be made and may be released anywhere, so it must not own what
/// only its loop may free.
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
