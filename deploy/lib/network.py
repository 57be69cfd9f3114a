"""A network of machines on one: a namespace for each, joined by a bridge, so that any of them can be cut from
others as a firewall or a pulled cable would do it. Needs root."""
import random, subprocess


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Network:
    """Machines by name, at .1, .2, … of a network of this machine alone; the machine itself is at .254."""

    def __init__(self, names):
        # 198.18.0.0/15 is for tests: no other network of the machine has it.
        third = random.randint(0, 255)
        self.bridge = f"gh{third}"
        self.hosts = {name: f"198.18.{third}.{number}" for number, name in enumerate(names, 1)}
        try:
            ip("link", "add", self.bridge, "type", "bridge")
            ip("addr", "add", f"198.18.{third}.254/24", "dev", self.bridge)
            ip("link", "set", self.bridge, "up")
            for name, host in self.hosts.items():
                self.join(name, host)
        except BaseException:
            self.close()
            raise

    def space(self, name):
        return f"{self.bridge}-{name}"

    def join(self, name, host):
        space, here = self.space(name), f"{self.bridge}-{name}"
        ip("netns", "add", space)
        ip("link", "add", here, "type", "veth", "peer", "name", "eth0", "netns", space)
        ip("link", "set", here, "master", self.bridge, "up")
        ip("-n", space, "addr", "add", f"{host}/24", "dev", "eth0")
        ip("-n", space, "link", "set", "eth0", "up")
        ip("-n", space, "link", "set", "lo", "up")

    def within(self, name):
        """What stands before a command that runs on that machine."""
        return ("ip", "netns", "exec", self.space(name))

    def cut(self, name, others=None, ports=()):
        """Drops, without a word to either side, what goes between this machine and the others, or all; of
        these ports alone, if they are named."""
        text = ""
        for hook, address, interface in (("input", "ip saddr", "iifname"), ("output", "ip daddr", "oifname")):
            to = ", ".join(self.hosts[one] for one in others or ())
            match = f"{address} {{ {to} }}" if others else f"{interface} eth0"
            ends = [f"tcp {end} {{ {', '.join(map(str, ports))} }}" for end in ("sport", "dport")] if ports else [""]
            rules = "".join(f"{match} {end} drop\n" for end in ends)
            text += f"chain {hook} {{\ntype filter hook {hook} priority 0\n{rules}}}\n"
        subprocess.run([*self.within(name), "nft", f"table inet cut {{\n{text}}}"], check=True)

    def heal(self, name):
        subprocess.run([*self.within(name), "nft", "flush ruleset"], check=True)

    def close(self):
        """Takes everything away, also what was begun."""
        for name in self.hosts:
            for words in (("netns", "del", self.space(name)), ("link", "del", f"{self.bridge}-{name}")):
                subprocess.run(["ip", *words], stderr=subprocess.DEVNULL)
        subprocess.run(["ip", "link", "del", self.bridge], stderr=subprocess.DEVNULL)
