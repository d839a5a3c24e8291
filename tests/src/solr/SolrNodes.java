import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.solr.cloud.MiniSolrCloudCluster;
import org.apache.solr.cloud.ZkTestServer;
import org.apache.solr.embedded.JettyConfig;
import org.apache.solr.embedded.JettySolrRunner;

/**
 * Nodes of Solr in this process: folder, port of ZooKeeper, HTTP ports of the nodes, and folders with configurations for collections,
 * which have the names of their folders. Without ZooKeeper, whose port is 0 then, there is one server with cores. It prints `ready`, obeys
 * `stop N` and `start N`, each answered by the same line, and ends and removes its folder when its standard input closes.
 */
public final class SolrNodes {
  private final MiniSolrCloudCluster cluster;
  private final List<JettySolrRunner> nodes = new ArrayList<>();

  private SolrNodes(Path folder, int zooKeeperPort, int[] ports) throws Exception {
    ZkTestServer zooKeeper = new ZkTestServer(folder.resolve("zookeeper"), zooKeeperPort);
    zooKeeper.run();
    String settings = MiniSolrCloudCluster.DEFAULT_CLOUD_SOLR_XML;
    cluster = new MiniSolrCloudCluster(0, folder, settings, at(0), zooKeeper, true);
    for (int port : ports) {
      nodes.add(cluster.startJettySolrRunner("node" + nodes.size(), "/solr", at(port)));
    }
  }

  /** Runs one server that belongs to no cluster, with this file of passwords and rights. */
  private static JettySolrRunner alone(Path folder, int port, String security, List<Path> configurations) throws Exception {
    Path home = Files.createDirectories(folder.resolve("home"));
    Files.writeString(home.resolve("solr.xml"), "<solr/>");
    Files.writeString(home.resolve("security.json"), security);
    for (Path configuration : configurations) {
      Path own = home.resolve("configsets").resolve(configuration.getFileName()).resolve("conf");
      Files.createDirectories(own);
      try (Stream<Path> files = Files.list(configuration)) {
        for (Path file : files.toList()) {
          Files.copy(file, own.resolve(file.getFileName()));
        }
      }
    }
    JettySolrRunner server = new JettySolrRunner(home.toString(), at(port));
    server.start();
    return server;
  }

  private static JettyConfig at(int port) {
    return JettyConfig.builder().setContext("/solr").setPort(port).build();
  }

  private void obey(String[] words) throws Exception {
    JettySolrRunner node = nodes.get(Integer.parseInt(words[1]));
    switch (words[0]) {
      case "stop" -> cluster.stopJettySolrRunner(node);
      case "start" -> cluster.startJettySolrRunner(node, true);
      default -> throw new IllegalArgumentException(words[0]);
    }
  }

  private static void remove(Path folder) throws IOException {
    try (Stream<Path> paths = Files.walk(folder)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(path);
      }
    }
  }

  public static void main(String[] arguments) throws Exception {
    // Without these two properties, the nodes look for keys in files.
    System.setProperty("pkiHandlerPrivateKeyPath", "");
    System.setProperty("pkiHandlerPublicKeyPath", "");
    System.setProperty("metricsEnabled", "false");
    Path folder = Path.of(arguments[0]).toAbsolutePath();
    Files.createDirectories(folder);
    int[] ports = Arrays.stream(arguments[2].split(",")).mapToInt(Integer::parseInt).toArray();
    List<Path> configurations = Arrays.stream(arguments).skip(3).map(Path::of).toList();
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
    if (arguments[1].equals("0")) {
      JettySolrRunner server = alone(folder, ports[0], System.getProperty("security"), configurations);
      System.out.println("ready");
      while (commands.readLine() != null) {}
      server.stop();
    } else {
      SolrNodes nodes = new SolrNodes(folder, Integer.parseInt(arguments[1]), ports);
      for (Path configuration : configurations) {
        nodes.cluster.uploadConfigSet(configuration, configuration.getFileName().toString());
      }
      System.out.println("ready");
      for (String line; (line = commands.readLine()) != null; ) {
        nodes.obey(line.split(" "));
        System.out.println(line);
      }
      nodes.cluster.shutdown();
    }
    remove(folder);
    System.exit(0);
  }
}
