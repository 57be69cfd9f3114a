/// What handlers reach through `call.services`. Each noun adds its store here as a stored property;
/// the composition root fills them once.
package struct Services: Sendable {
    package init() {}
}
