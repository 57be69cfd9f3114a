/// Every order in which these elements may come.
package func orders<Element>(of all: [Element]) -> [[Element]] {
    guard !all.isEmpty else { return [[]] }
    return all.indices.flatMap { index in
        var rest = all
        let first = rest.remove(at: index)
        return orders(of: rest).map { [first] + $0 }
    }
}
