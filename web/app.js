import { TalkPanel } from "./talk/panel.js";
import { WatchPanel } from "./watch/panel.js";

new TalkPanel(document.getElementById("talk")).open();
new WatchPanel(document.getElementById("watch")).open();
