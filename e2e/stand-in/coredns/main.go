// Command coredns is CoreDNS with the plugins that cluster DNS needs, and no cloud provider's.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	// The order in which a query passes the plugins, as in CoreDNS's own plugin.cfg.
	dnsserver.Directives = []string{
		"bind", "ready", "errors", "cache", "loadbalance", "kubernetes", "forward",
	}
	coremain.Run()
}
